#!/usr/bin/env bash
# A stand-in for the installer of Hermes Agent: accepts the same flags, writes the same files, downloads nothing.
#
# CLM_STANDIN_INSTALL_SLEEP, or a number in /tmp/standin-install-slow, makes it take that many seconds; /tmp/standin-install-fail
# holds an exit code to fail with half-way; /tmp/standin-install-moved holds a commit that the tag has been moved to.
set -e

#release#

warn() { printf '\033[0;33m⚠\033[0m %s\n' "$*"; }
info() { printf '\033[0;36m→\033[0m %s\n' "$*"; }
success() { printf '\033[0;32m✓\033[0m %s\n' "$*"; }
error() { printf '\033[0;31m✗\033[0m %s\n' "$*" >&2; }

BRANCH=main
REQUESTED_COMMIT=
HERMES_HOME=${HERMES_HOME:-$HOME/.hermes}
INSTALL_DIR=${HERMES_INSTALL_DIR:-}
USE_VENV=true
SKIP_BROWSER=false
NO_SKILLS=false
STAGE=

while [ $# -gt 0 ]; do
  # The first release that accepts the flag.
  case $1 in
    --skip-browser | --no-playwright | --ensure | --postinstall) known_since=14 ;;
    --no-skills | --commit | --manifest | --stage | --json | --non-interactive | --include-desktop) known_since=16 ;;
    *) known_since=0 ;;
  esac
  if [ "$MINOR" -lt "$known_since" ]; then
    echo "Unknown option: $1"
    exit 1
  fi
  case $1 in
    --no-venv) USE_VENV=false ;;
    --skip-setup | --json | --non-interactive | --include-desktop | --postinstall) ;;
    --branch) BRANCH=$2 && shift ;;
    --dir) INSTALL_DIR=$2 && shift ;;
    --hermes-home) HERMES_HOME=$2 && shift ;;
    --commit) REQUESTED_COMMIT=$2 && shift ;;
    --skip-browser | --no-playwright) SKIP_BROWSER=true ;;
    --no-skills) NO_SKILLS=true ;;
    --ensure | --stage) STAGE=$2 && shift ;;
    --manifest)
      echo '{"protocol_version":1,"stages":["prerequisites","repository","venv","python-deps","node-deps","path","config","setup","gateway","complete"]}'
      exit 0
      ;;
    -h | --help)
      echo "Hermes Agent installer (stand-in): [--no-venv] [--skip-setup] [--branch NAME] [--dir PATH] [--hermes-home PATH]"
      exit 0
      ;;
    *)
      echo "Unknown option: $1"
      exit 1
      ;;
  esac
  shift
done
if [ -n "$STAGE" ]; then
  error "The stand-in has no single stages and nothing to ensure: $STAGE"
  exit 2
fi
INSTALL_DIR=${INSTALL_DIR:-$HERMES_HOME/hermes-agent}
BIN_DIR=$HOME/.local/bin

SLEEP_SECONDS=${CLM_STANDIN_INSTALL_SLEEP:-$(cat /tmp/standin-install-slow 2> /dev/null || echo 0)}
pause() { [ "$SLEEP_SECONDS" = 0 ] || sleep "$((SLEEP_SECONDS * 1000 / 4))e-3"; }

prerequisites() {
  cat << END

┌─────────────────────────────────────────────────────────┐
│             ⚕ Hermes Agent Installer                    │
└─────────────────────────────────────────────────────────┘
This is a stand-in of clm's lab for $VERSION. It installs no real Hermes Agent.

END
  # shellcheck disable=SC1091
  success "Detected: linux ($(. /etc/os-release && echo "$ID"))"
  command -v python3 > /dev/null || { error "Python 3.11 not found" && exit 1; }
  success "Python found: $(python3 --version)"
  command -v git > /dev/null || { error "Git not found" && exit 1; }
  success "Git found"
  local program
  for program in rg ffmpeg; do
    if command -v "$program" > /dev/null; then success "$program found"; else warn "$program not found and could not be installed (no sudo)"; fi
  done
  pause
}

# As the real clone: only this release's tag and main exist upstream.
checkout() {
  if [ -d "$INSTALL_DIR" ] && [ ! -d "$INSTALL_DIR/.git" ]; then
    error "Directory exists but is not a git repository: $INSTALL_DIR"
    info "Remove it or choose a different directory with --dir"
    exit 1
  fi
  local git=$INSTALL_DIR/.git
  if [ -d "$git" ] && [ ! -e "$git/standin-tag" ] && [ "$MINOR" -ge 18 ]; then
    warn "The checkout has no commits; moved aside"
    mv "$INSTALL_DIR" "$INSTALL_DIR.broken-$(date +%s)"
  fi
  if [ -e "$git/standin-tag" ]; then
    info "Existing installation found, updating..."
    # The clone is shallow: it has one tag, and those fetched later.
    if [ "$MINOR" -ge 16 ] && [ "$(cat "$git/standin-tag")" != "$BRANCH" ] && [ ! -e "$git/refs/tags/$BRANCH" ]; then
      error "error: pathspec '$BRANCH' did not match any file(s) known to git"
      exit 1
    fi
  else
    info "Cloning repository..."
  fi
  if [ "$BRANCH" != "v$VERSION" ] && [ "$BRANCH" != main ]; then
    error "fatal: Remote branch $BRANCH not found in upstream origin"
    error "Failed to clone repository"
    exit 1
  fi
  if [ -n "$REQUESTED_COMMIT" ] && [ "$REQUESTED_COMMIT" != "$COMMIT" ]; then
    error "fatal: reference is not a tree: $REQUESTED_COMMIT"
    exit 1
  fi
  mkdir -p "$git/objects" "$git/refs/tags" "$INSTALL_DIR/hermes_cli" "$INSTALL_DIR/agent/transports"
  pause
  program "$INSTALL_DIR"
  if [ "$BRANCH" = main ]; then
    sed -i 's/^__version__ = .*/__version__ = "0.99.0"/; s/^__release_date__ = .*/__release_date__ = "main"/' "$INSTALL_DIR/hermes_cli/__init__.py"
  fi
  echo "# A stand-in for Hermes Agent $VERSION" > "$INSTALL_DIR/README.md"
  printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n' > "$git/config"
  local commit
  commit=$(cat /tmp/standin-install-moved 2> /dev/null || echo "$COMMIT")
  echo "$commit" > "$git/refs/tags/$BRANCH"
  echo "$commit" > "$git/HEAD"
  echo "$BRANCH" > "$git/standin-tag"
  success "Repository ready: $BRANCH"
}

environment() {
  info "Creating virtual environment..."
  local venv=$INSTALL_DIR/venv
  rm -rf "$venv"
  mkdir -p "$venv/bin"
  pause
  if [ -e /tmp/standin-install-fail ]; then
    error "Package installation failed. (a switch of the stand-in)"
    exit "$(cat /tmp/standin-install-fail)"
  fi
  local python
  python=$(command -v python3)
  ln -s "$python" "$venv/bin/python"
  printf 'home = %s\ninclude-system-site-packages = true\n' "$(dirname "$python")" > "$venv/pyvenv.cfg"
  local packages
  packages=$venv/lib/$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages
  mkdir -p "$packages"
  echo "$INSTALL_DIR" > "$packages/hermes.pth"
  cat > "$venv/bin/hermes" << END
#!$venv/bin/python
import sys
from hermes_cli.main import main
sys.exit(main())
END
  chmod 0755 "$venv/bin/hermes"
  success "All dependencies installed"
}

browser() {
  if [ "$SKIP_BROWSER" = true ]; then
    info "Skipping browser setup (--skip-browser)"
  else
    warn "Playwright browser installation failed — browser tools will not work."
    warn "Try running manually: npx playwright install --with-deps chromium"
  fi
}

launcher() {
  mkdir -p "$BIN_DIR"
  cat > "$BIN_DIR/hermes" << END
#!/usr/bin/env bash
unset PYTHONPATH
unset PYTHONHOME
exec "$INSTALL_DIR/venv/bin/hermes" "\$@"
END
  chmod 0755 "$BIN_DIR/hermes"
  success "Installed hermes launcher → $BIN_DIR/hermes"
  case :$PATH: in *":$BIN_DIR:"*) return ;; esac
  local file
  for file in "$HOME/.bashrc" "$HOME/.zshrc" "$HOME/.profile"; do
    [ -f "$file" ] && ! grep -q '# Hermes Agent' "$file" || continue
    # shellcheck disable=SC2016
    printf '\n# Hermes Agent — ensure ~/.local/bin is on PATH\nexport PATH="$HOME/.local/bin:$PATH"\n' >> "$file"
    success "Added ~/.local/bin to PATH in $file"
  done
}

# bundled_skill CATEGORY NAME TEXT: the manifest line (name, and MD5 over each file's path and bytes) marks the skill as bundled rather
# than written by the agent.
bundled_skill() {
  mkdir -p "skills/$1/$2"
  printf -- '---\nname: %s\n---\n%s\n' "$2" "$3" > "skills/$1/$2/SKILL.md"
  local digest
  digest=$({ printf SKILL.md && cat "skills/$1/$2/SKILL.md"; } | md5sum)
  echo "$2:${digest%% *}" >> skills/.bundled_manifest
}

templates() {
  info "Setting up configuration files..."
  (
    cd "$HERMES_HOME"
    mkdir -p cron sessions logs pairing hooks image_cache audio_cache memories skills
    if [ ! -e .env ]; then
      printf '# Hermes Agent environment (a template of the stand-in)\nTERMINAL_TIMEOUT=60\nBROWSERBASE_PROXIES=true\n' > .env
      # World-readable at 0.13, mode 0600 later.
      [ "$MINOR" -lt 14 ] || chmod 0600 .env
    fi
    [ -e config.yaml ] || printf 'model:\n  default: anthropic/claude-opus-4.6\n  provider: auto\nagent:\n  max_turns: 60\n' > config.yaml
    if [ ! -e SOUL.md ]; then
      if [ "$MINOR" -ge 18 ]; then
        echo 'You are Hermes Agent, an intelligent AI assistant. (This is a stand-in.)' > SOUL.md
      else
        printf '# Hermes Agent Persona\n\n<!-- Say here who the agent is. -->\n' > SOUL.md
      fi
    fi
    if [ "$NO_SKILLS" = true ]; then
      touch .no-bundled-skills
    else
      bundled_skill standin example 'A skill of the stand-in.'
      bundled_skill notes summaries 'Another skill of the stand-in.'
    fi
    # 0.18 keeps this file with the code.
    if [ "$MINOR" -ge 18 ]; then echo git > "$INSTALL_DIR/.install_method"; elif [ "$MINOR" -ge 15 ]; then echo git > .install_method; fi
  )
  success "Configuration directory ready: $HERMES_HOME"
}

#program#

prerequisites
mkdir -p "$HERMES_HOME"
checkout
[ "$USE_VENV" = false ] || environment
browser
launcher
pause
templates
info "Skipping setup wizard (--skip-setup)"
success "Installation complete! (a stand-in for Hermes Agent $VERSION)"
