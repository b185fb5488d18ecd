import type { Handler } from "../command.js";
import type { completion } from "./commands.js";

export const run: Handler<typeof completion> = async ({ args }, clm) => {
  clm.ui.out(scripts[args.shell]);
};

/**
 * The scripts ask clm for candidates each time, so new commands and hosts complete without a new script. A line of the
 * answer is `word` or `word<TAB>note`; a lone `:file` or `:directory` asks the shell to complete paths.
 */
export const scripts = {
  bash: `# bash completion for clm
_clm() {
  local answer line
  COMPREPLY=()
  compopt -o nosort 2>/dev/null
  answer=$(clm __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
  case $answer in
    '') return 0 ;;
    :file) compopt -o default 2>/dev/null; return 0 ;;
    :directory) compopt -o dirnames 2>/dev/null; return 0 ;;
  esac
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done <<<"$answer"
  # A value follows at once.
  case \${COMPREPLY[0]} in *=) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _clm clm
`,
  zsh: `#compdef clm
# zsh completion for clm
_clm() {
  local line word note
  local -a lines described
  lines=("\${(@f)$(clm __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  case $lines[1] in
    '') return 1 ;;
    :file) compset -P '--*='; _files; return ;;
    :directory) compset -P '--*='; _files -/; return ;;
  esac
  for line in $lines; do
    word=\${line%%$'\\t'*}
    note=\${line#$word}
    described+=("\${word//:/\\\\:}\${note:+:\${note#$'\\t'}}")
  done
  _describe -o clm described
}
if [[ $funcstack[1] == _clm ]]; then
  _clm "$@"
else
  compdef _clm clm
fi
`,
  fish: `# fish completion for clm
function __clm_complete
    set -l before (commandline -opc)
    set -e before[1]
    set -l current (commandline -ct)
    set -l lines (clm __complete -- $before "$current" 2>/dev/null)
    switch "$lines[1]"
        case :file
            __fish_complete_path (string replace -r -- '^--[^=]+=' '' "$current")
        case :directory
            __fish_complete_directories (string replace -r -- '^--[^=]+=' '' "$current")
        case '*'
            printf '%s\\n' $lines
    end
end
complete -c clm -f -k -a '(__clm_complete)'
`,
} as const;
