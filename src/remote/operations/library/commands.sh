# run, job and pkg.

# run AS CWD SECONDS CREATES WORDS...
check_run() {
  as=$1 cwd=$2 seconds=$3 creates=$4
  if [ -z "$creates" ]; then always_differs 'would run'; else [ -e "$creates" ] || differs "$creates is missing"; fi
}

change_run() {
  shift 4
  exec 4<&-
  read_passwd "$as"
  [ -n "$is_name" ] || fail "there is no user $as on this host"
  if [ -n "$cwd" ]; then cd -- "$cwd" || exit; else cd -- "$is_home" 2>/dev/null || cd /; fi
  set -- env -i HOME="$is_home" USER="$as" LOGNAME="$as" SHELL="$is_shell" LANG=C.UTF-8 PATH=$standard_path "$@"
  [ "$is_uid" = "$me" ] || set -- setpriv --reuid "$is_uid" --regid "$is_gid" --init-groups -- "$@"
  begun=$(date +%s)
  timeout -k 10 "$seconds" "$@" 9>&- && return
  code=$?
  # By the clock: the exit code of a killed command differs between systems.
  if [ $(($(date +%s) - begun)) -ge "$seconds" ]; then
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
  # Only the start is promised: the job may have ended by now, well or not.
  [ -z "$proving" ] || [ $same = no ] || return 0
  case $same,$is_active,$is_sub in
    yes,failed,*) differs "failed ($is_result)" ;;
    # systemd counts a service ended by SIGTERM or SIGHUP as successful; 1 means that it exited by itself.
    yes,*,exited) if [ "$is_how" = 1 ] && { [ -z "$creates" ] || [ -e "$creates" ]; }; then note=finished; else differs 'not finished'; fi ;;
    yes,active,* | yes,activating,* | yes,deactivating,*) note=running ;;
    no,active,running) differs 'another job of this name is running' ;;
    *) if [ -n "$creates" ] && [ -e "$creates" ]; then note=finished; else differs 'not started'; fi ;;
  esac
}

is_this_job() {
  read_unit "$unit"
  case $is_description in *" $digest") ;; *) return 1 ;; esac
}

change_job() {
  shift 6
  read_passwd "$as"
  [ -n "$is_name" ] || fail "there is no user $as on this host"
  log=/run/clm/jobs/$name.log
  # Another job of this name, or the failed last try.
  systemctl stop "$unit" 2>/dev/null
  systemctl reset-failed "$unit" 2>/dev/null
  mkdir -p "${log%/*}" && rm -f "$log" && (umask 077 && : >"$log") || exit
  # A program of another user may be steered by that user's files and must not gain rights.
  if [ "$is_uid" = 0 ]; then closed=no; else closed=yes; fi
  systemd-run --quiet --no-ask-password --service-type=exec --unit="$unit" --description="clm job $name $digest" \
    --uid="$as" --working-directory="${cwd:-$is_home}" --setenv=LANG=C.UTF-8 \
    --property=NoNewPrivileges=$closed --property=RemainAfterExit=yes --property=RuntimeMaxSec="$seconds" --property=TimeoutStopSec=10 \
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
  # The lists may be old, and a killed dpkg needs this first.
  dpkg --configure -a --force-confold 9>&-
  apt-get -q update
  install_packages "$@"
}

install_packages() {
  apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold install "$@" 9>&-
}
