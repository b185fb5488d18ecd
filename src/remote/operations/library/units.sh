# Operations on systemd units.

# Sets active_state and so on from systemd. An unknown unit is inactive.
read_unit() {
  active_state=inactive sub_state='' file_state='' needs_reload='' result='' description='' exit_kind=''
  while IFS='=' read -r property value; do
    case $property in
      ActiveState) active_state=$value ;;
      SubState) sub_state=$value ;;
      UnitFileState) file_state=$value ;;
      NeedDaemonReload) needs_reload=$value ;;
      Result) result=$value ;;
      Description) description=$value ;;
      ExecMainCode) exit_kind=$value ;;
    esac
  done <<END
$(systemctl show --property ActiveState,SubState,UnitFileState,NeedDaemonReload,Result,Description,ExecMainCode -- "$1")
END
}

is_up() {
  case $active_state in active | activating | reloading) ;; *) return 1 ;; esac
}

# Records that a unit's files changed since it started, so that a rerun after a kill restarts it. A boot clears /run.
mark_restart_due() {
  mkdir -p /run/clm/restart && : >"/run/clm/restart/$1"
}

# Whether a file before this unit in the list will change.
restart_will_be_due() {
  [ "$phase" = check ] || return 1
  case $restarting in *" $name "*) ;; *) return 1 ;; esac
}

# Sets `overrides` to the drop-ins and unit files that systemd reads besides ours, or instead of it. Drop-ins for all
# services, or for all units with a common prefix, belong to the host and stay.
read_overrides() {
  overrides=''
  for override in /etc/systemd/system*/"$name.d"/*.conf /run/systemd/*/"$name.d"/*.conf \
    /usr/lib/systemd/system/"$name.d"/*.conf /usr/local/lib/systemd/system/"$name.d"/*.conf \
    /etc/systemd/system.*/"$name" /run/systemd/system*/"$name" /run/systemd/transient/"$name"; do
    [ ! -e "$override" ] && [ ! -L "$override" ] || overrides="$overrides$override$newline"
  done
}

# systemd does not notice when a link in TARGET.wants is added or removed: check the links themselves.
read_links() {
  links=''
  while read -r line; do
    case $line in WantedBy=*) ;; *) continue ;; esac
    for target in ${line#*=}; do
      if [ "/etc/systemd/system/$target.wants/$name" -ef "$path" ]; then links="$links enabled"; else links="$links disabled"; fi
    done
  done 2>/dev/null <"$path"
  case $file_state,$links in
    enabled,*disabled*) file_state=disabled ;;
    disabled,*enabled*) file_state=enabled ;;
  esac
}

# unit NAME ENABLED STATE [arguments of check_file]
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
  [ "$needs_reload" != yes ] || differs 'not reloaded'
  case $enabled,$file_state in
    yes,enabled | yes,static | yes,alias | yes,generated) ;;
    yes,*) differs "${file_state:-not installed} -> enabled" ;;
    no,enabled*) differs "$file_state -> disabled" ;;
  esac
  case $state in
    started)
      is_up || differs "$active_state -> started"
      if is_up && { [ -n "$needs_content$overrides" ] || [ -e "$due" ] || restart_will_be_due; }; then differs 'restart: its content changed'; fi
      ;;
    stopped) [ "$active_state" = inactive ] || [ "$active_state" = failed ] || differs "$active_state -> stopped" ;;
    restarted) always_differs restart ;;
  esac
}

change_unit() {
  shift 3
  [ -z "$needs_content$overrides" ] || ! is_up || mark_restart_due "$name" || exit
  [ -z "$needs_content" ] || (change_file) || exit
  [ -z "$overrides" ] || remove_overrides || exit
  if [ -n "$needs_content$overrides" ] || [ "$needs_reload" = yes ]; then
    systemctl daemon-reload || exit
    # Only now is the real state of a unit known that was masked.
    read_unit "$name"
    [ $# = 0 ] || read_links
  fi
  case $enabled,$file_state in
    yes,enabled) ;;
    yes,*) systemctl --quiet enable "$name" || exit ;;
    no,enabled*) systemctl --quiet disable "$name" || exit ;;
  esac
  # Our own starts must not count towards systemd's start limit.
  case $state in started | restarted) systemctl reset-failed "$name" 2>/dev/null ;; esac
  case $state in
    started) if [ -e "$due" ]; then systemctl restart "$name"; else systemctl start "$name"; fi ;;
    stopped) systemctl stop "$name" ;;
    restarted) systemctl restart "$name" ;;
    *) return 0 ;;
  esac && rm -f "$due"
}

# A directory of drop-ins may be a link to a shared one: then only the link is removed.
remove_overrides() {
  while IFS= read -r override; do
    case $override in
      '') continue ;;
      # systemd keeps transient files for as long as the unit runs.
      /run/systemd/transient/*) systemctl stop "$name" ;;
    esac
    directory=${override%/*}
    case $directory in
      *".d") if [ -L "$directory" ]; then rm -f -- "$directory"; else rm -f -- "$override" && rmdir -- "$directory" 2>/dev/null || :; fi ;;
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
  [ "$active_state" = inactive ] || differs "$active_state"
  [ "$needs_reload" != yes ] || differs 'not reloaded'
}

# The file is removed last, so that a rerun after a kill still finds the unit.
change_absent_unit() {
  systemctl stop "$name" 2>/dev/null
  systemctl --quiet disable "$name" 2>/dev/null
  rm -f -- "$path" "/run/clm/restart/$name" &&
    systemctl daemon-reload || exit
  systemctl reset-failed "$name" 2>/dev/null
  return 0
}
