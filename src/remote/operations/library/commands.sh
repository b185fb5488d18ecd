# Operations that run commands: run, job and pkg.

# run AS CWD SECONDS CREATES WORDS...
check_run() {
  as=$1 cwd=$2 seconds=$3 creates=$4
  if [ -z "$creates" ]; then always_differs 'would run'; else [ -e "$creates" ] || differs "$creates is missing"; fi
}

change_run() {
  shift 4
  exec 4<&-
  read_passwd "$as"
  [ -n "$account_name" ] || fail "there is no user $as on this host"
  if [ -n "$cwd" ]; then cd -- "$cwd" || exit; else cd -- "$account_home" 2>/dev/null || cd /; fi
  set -- env -i HOME="$account_home" USER="$as" LOGNAME="$as" SHELL="$account_shell" LANG=C.UTF-8 PATH=$standard_path "$@"
  [ "$account_uid" = "$own_uid" ] || set -- setpriv --reuid "$account_uid" --regid "$account_gid" --init-groups -- "$@"
  started_at=$(date +%s)
  timeout -k 10 "$seconds" "$@" 9>&- && return
  code=$?
  # Compares times, because the exit code of a killed command differs between systems.
  if [ $(($(date +%s) - started_at)) -ge "$seconds" ]; then
    echo "it took longer than $seconds seconds"
    return 124
  fi
  fail "it ended with exit code $code"
}

# job NAME DIGEST AS CWD SECONDS CREATES WORDS...
check_job() {
  name=$1 digest=$2 as=$3 cwd=$4 seconds=$5 creates=$6
  unit=clm-job-$name.service
  if is_this_job; then same=yes; else same=no; fi
  # Only the start has to succeed: the job may have ended by now, in success or failure.
  [ -z "$proving" ] || [ $same = no ] || return 0
  case $same,$active_state,$sub_state in
    yes,failed,*) differs "failed ($result)" ;;
    # systemd counts a service ended by SIGTERM or SIGHUP as successful; 1 means that it exited by itself.
    yes,*,exited) if [ "$exit_kind" = 1 ] && { [ -z "$creates" ] || [ -e "$creates" ]; }; then note=finished; else differs 'not finished'; fi ;;
    yes,active,* | yes,activating,* | yes,deactivating,*) note=running ;;
    no,active,running) differs 'another job of this name is running' ;;
    *) if [ -n "$creates" ] && [ -e "$creates" ]; then note=finished; else differs 'not started'; fi ;;
  esac
}

is_this_job() {
  read_unit "$unit"
  case $description in *" $digest") ;; *) return 1 ;; esac
}

change_job() {
  shift 6
  read_passwd "$as"
  [ -n "$account_name" ] || fail "there is no user $as on this host"
  log=/run/clm/jobs/$name.log
  # An earlier job of this name, running or failed.
  systemctl stop "$unit" 2>/dev/null
  systemctl reset-failed "$unit" 2>/dev/null
  mkdir -p "${log%/*}" && rm -f "$log" && (umask 077 && : >"$log") || exit
  # The user's own files can control the program, so it must not gain rights by set-user-ID programs.
  if [ "$account_uid" = 0 ]; then no_new_privileges=no; else no_new_privileges=yes; fi
  systemd-run --quiet --no-ask-password --service-type=exec --unit="$unit" --description="clm job $name $digest" \
    --uid="$as" --working-directory="${cwd:-$account_home}" --setenv=LANG=C.UTF-8 \
    --property=NoNewPrivileges=$no_new_privileges --property=RemainAfterExit=yes --property=RuntimeMaxSec="$seconds" --property=TimeoutStopSec=10 \
    --property=StandardInput=null --property=StandardOutput="append:$log" --property=StandardError="append:$log" \
    -- "$@" && return
  # A job that has failed by now was still started; followJob reports its end.
  is_this_job || { rm -f "$log" && return 1; }
}

# pkg NAMES...
check_pkg() {
  installed=$newline$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null)$newline
  for name; do
    case $installed in *"$newline$name installed$newline"*) ;; *) differs "$name is missing" ;; esac
  done
}

change_pkg() {
  exec 4<&-
  export DEBIAN_FRONTEND=noninteractive APT_LISTCHANGES_FRONTEND=none NEEDRESTART_MODE=l
  install_packages "$@" 2>&1 && return
  # A killed dpkg must be repaired first, and the package lists may be old.
  dpkg --configure -a --force-confold 9>&-
  apt-get -q update
  install_packages "$@"
}

install_packages() {
  apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold install "$@" 9>&-
}
