# unit and the absence of one.

# Sets is_active and so on to what the manager says. A unit nobody knows is inactive.
read_unit() {
  is_active=inactive is_sub='' is_enabled='' is_stale='' is_result='' is_description='' is_how=''
  while IFS='=' read -r property value; do
    case $property in
      ActiveState) is_active=$value ;;
      SubState) is_sub=$value ;;
      UnitFileState) is_enabled=$value ;;
      NeedDaemonReload) is_stale=$value ;;
      Result) is_result=$value ;;
      Description) is_description=$value ;;
      ExecMainCode) is_how=$value ;;
    esac
  done <<END
$(systemctl show --property ActiveState,SubState,UnitFileState,NeedDaemonReload,Result,Description,ExecMainCode -- "$1")
END
}

is_up() {
  case $is_active in active | activating | reloading) ;; *) return 1 ;; esac
}

# Notes that what a unit runs with has changed since it started, so that it is restarted also when we are killed before.
# The note is gone after a boot, when the unit has been started anew anyway.
restart_is_due() {
  mkdir -p /run/clm/restart && : >"/run/clm/restart/$1"
}

# One of the files before it in the list will have changed.
will_be_due() {
  [ "$phase" = look ] || return 1
  case $restarting in *" $name "*) ;; *) return 1 ;; esac
}

# unit NAME ENABLED STATE [what look_file takes]
look_unit() {
  name=$1 enabled=$2 state=$3
  shift 3
  due=/run/clm/restart/$name
  [ $# = 0 ] || look_file "$@"
  read_unit "$name"
  [ "$is_stale" != yes ] || differs 'not reloaded'
  case $enabled,$is_enabled in
    yes,enabled | yes,static | yes,alias | yes,generated) ;;
    yes,*) differs "${is_enabled:-not installed} -> enabled" ;;
    no,enabled*) differs "$is_enabled -> disabled" ;;
  esac
  case $state in
    started)
      is_up || differs "$is_active -> started"
      if is_up && { [ -n "$wants" ] || [ -e "$due" ] || will_be_due; }; then differs 'restart: its content changed'; fi
      ;;
    stopped) [ "$is_active" = inactive ] || [ "$is_active" = failed ] || differs "$is_active -> stopped" ;;
    restarted) always_differs restart ;;
  esac
}

change_unit() {
  if [ -n "$wants" ]; then
    ! is_up || restart_is_due "$name" || exit
    (change_file) || exit
  fi
  [ -z "$wants" ] && [ "$is_stale" != yes ] || systemctl daemon-reload || exit
  case $enabled,$is_enabled in
    yes,enabled) ;;
    yes,*) systemctl --quiet enable "$name" || exit ;;
    no,enabled*) systemctl --quiet disable "$name" || exit ;;
  esac
  # What we start ourselves must not count as one of the restarts after which systemd gives up on a unit.
  case $state in started | restarted) systemctl reset-failed "$name" 2>/dev/null ;; esac
  case $state in
    started) if [ -e "$due" ]; then systemctl restart "$name"; else systemctl start "$name"; fi ;;
    stopped) systemctl stop "$name" ;;
    restarted) systemctl restart "$name" ;;
    *) return 0 ;;
  esac && rm -f "$due"
}

# absent_unit NAME
look_absent_unit() {
  name=$1
  path=/etc/systemd/system/$name
  [ ! -e "$path" ] && [ ! -L "$path" ] || differs present
  read_unit "$name"
  [ "$is_active" = inactive ] || differs "$is_active"
  [ "$is_stale" != yes ] || differs 'not reloaded'
}

# The file goes when nothing else is left of it, so that a rerun after a kill still knows what to do.
change_absent_unit() {
  systemctl stop "$name" 2>/dev/null
  systemctl --quiet disable "$name" 2>/dev/null
  rm -f -- "$path" "/run/clm/restart/$name" &&
    systemctl daemon-reload || exit
  systemctl reset-failed "$name" 2>/dev/null
  return 0
}
