# unit and the absence of one.

# Sets is_active and so on from the manager. An unknown unit is inactive.
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

# Notes that a unit's files changed since it started, to restart it even if we are killed before. A boot drops the note.
restart_is_due() {
  mkdir -p /run/clm/restart && : >"/run/clm/restart/$1"
}

# One of the files before it in the list is going to change.
will_be_due() {
  [ "$phase" = check ] || return 1
  case $restarting in *" $name "*) ;; *) return 1 ;; esac
}

# Drop-ins and files that the manager reads beside our unit, or instead of it. Those for all services, or for all units
# with a common prefix, are the host's own.
read_overrides() {
  overrides=''
  for override in /etc/systemd/system*/"$name.d"/*.conf /run/systemd/*/"$name.d"/*.conf \
    /usr/lib/systemd/system/"$name.d"/*.conf /usr/local/lib/systemd/system/"$name.d"/*.conf \
    /etc/systemd/system.*/"$name" /run/systemd/system*/"$name" /run/systemd/transient/"$name"; do
    [ ! -e "$override" ] && [ ! -L "$override" ] || overrides="$overrides$override$newline"
  done
}

# The manager does not notice when a link that starts our unit at boot is added or removed.
read_links() {
  links=''
  while read -r line; do
    case $line in WantedBy=*) ;; *) continue ;; esac
    for target in ${line#*=}; do
      if [ "/etc/systemd/system/$target.wants/$name" -ef "$path" ]; then links="$links enabled"; else links="$links disabled"; fi
    done
  done 2>/dev/null <"$path"
  case $is_enabled,$links in
    enabled,*disabled*) is_enabled=disabled ;;
    disabled,*enabled*) is_enabled=enabled ;;
  esac
}

# unit NAME ENABLED STATE [what check_file takes]
check_unit() {
  name=$1 enabled=$2 state=$3 overrides=''
  shift 3
  due=/run/clm/restart/$name
  if [ $# != 0 ]; then
    check_file "$@"
    [ ! -L "$path" ] || [ "$(readlink -- "$path")" != /dev/null ] || differs masked
    read_overrides
    while IFS= read -r override; do
      [ -z "$override" ] || differs "override $override"
    done <<END
$overrides
END
  fi
  read_unit "$name"
  [ $# = 0 ] || [ ! -f "$path" ] || read_links
  [ "$is_stale" != yes ] || differs 'not reloaded'
  case $enabled,$is_enabled in
    yes,enabled | yes,static | yes,alias | yes,generated) ;;
    yes,*) differs "${is_enabled:-not installed} -> enabled" ;;
    no,enabled*) differs "$is_enabled -> disabled" ;;
  esac
  case $state in
    started)
      is_up || differs "$is_active -> started"
      if is_up && { [ -n "$wants$overrides" ] || [ -e "$due" ] || will_be_due; }; then differs 'restart: its content changed'; fi
      ;;
    stopped) [ "$is_active" = inactive ] || [ "$is_active" = failed ] || differs "$is_active -> stopped" ;;
    restarted) always_differs restart ;;
  esac
}

change_unit() {
  shift 3
  [ -z "$wants$overrides" ] || ! is_up || restart_is_due "$name" || exit
  [ -z "$wants" ] || (change_file) || exit
  [ -z "$overrides" ] || remove_overrides || exit
  if [ -n "$wants$overrides" ] || [ "$is_stale" = yes ]; then
    systemctl daemon-reload || exit
    # A unit that was masked may turn out to be enabled.
    read_unit "$name"
    [ $# = 0 ] || read_links
  fi
  case $enabled,$is_enabled in
    yes,enabled) ;;
    yes,*) systemctl --quiet enable "$name" || exit ;;
    no,enabled*) systemctl --quiet disable "$name" || exit ;;
  esac
  # Our own starts must not count as restarts after which systemd gives up on a unit.
  case $state in started | restarted) systemctl reset-failed "$name" 2>/dev/null ;; esac
  case $state in
    started) if [ -e "$due" ]; then systemctl restart "$name"; else systemctl start "$name"; fi ;;
    stopped) systemctl stop "$name" ;;
    restarted) systemctl restart "$name" ;;
    *) return 0 ;;
  esac && rm -f "$due"
}

# A folder of drop-ins may be a link to a shared one: then only the link is removed.
remove_overrides() {
  while IFS= read -r override; do
    case $override in
      '') continue ;;
      # The manager keeps transient files for as long as the unit runs.
      /run/systemd/transient/*) systemctl stop "$name" ;;
    esac
    folder=${override%/*}
    case $folder in
      *".d") if [ -L "$folder" ]; then rm -f -- "$folder"; else rm -f -- "$override" && rmdir -- "$folder" 2>/dev/null || :; fi ;;
      *) rm -rf -- "$override" ;;
    esac
  done <<END
$overrides
END
  read_overrides
  [ -z "$overrides" ] || fail "cannot remove the overrides: $overrides"
  overrides=removed
}

# absent_unit NAME
check_absent_unit() {
  name=$1
  path=/etc/systemd/system/$name
  [ ! -e "$path" ] && [ ! -L "$path" ] || differs present
  read_unit "$name"
  [ "$is_active" = inactive ] || differs "$is_active"
  [ "$is_stale" != yes ] || differs 'not reloaded'
}

# The file is removed last, so that a rerun after a kill still knows what to do.
change_absent_unit() {
  systemctl stop "$name" 2>/dev/null
  systemctl --quiet disable "$name" 2>/dev/null
  rm -f -- "$path" "/run/clm/restart/$name" &&
    systemctl daemon-reload || exit
  systemctl reset-failed "$name" 2>/dev/null
  return 0
}
