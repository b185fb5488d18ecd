# The agent's own files, all read by one process with its rights. Used with the functions of proof.sh, after see_account and see_unit.

# see_own_files WHAT VERSION_FILE LAUNCHER REPORTS VERSION [NAME PATH]...: WHAT lists some of: version env gateway errors. Sets
# `reports` and `version` as see_version does. Files with a name are those that others write to, too; their size tells whether
# all of one could be read.
see_own_files() {
  reports='' version='' part='' count=0 variables='' have=' ' log=$data/logs/errors.log
  what=" $1 " constants="$4 $5"
  shift
  case $what in *' gateway '*) say connections yes ;; esac
  [ -n "$uid" ] || return 0
  # What it says of its channels counts only while it runs.
  gateway=$data/gateway_state.json
  [ "${pid:-0}" != 0 ] || gateway=''
  case $what in *' errors '*) see_began; [ -n "$began" ] || log='' ;; *) log='' ;; esac
  known=" version variable error gateway "
  lines=$(exec_as_agent 10 /bin/sh -c "$read_own_files" sh "$what" "${env-}" "$gateway" "$log" \
    "${began_local-}" "${models-}" "$@" | at_most 20000000)
  shift 4
  say_sizes "$@"
  set -f
  IFS=$newline
  for line in $lines; do
    # What this process says is in the agent's hands: it may speak only of these files.
    case $line in
      @*) part=${line#@} count=0; case $known in *" $part "*) have="$have$part " ;; *) part='' ;; esac ;;
      :*) own_line "${line#:}" ;;
      *[!A-Za-z0-9+/=]*) ;;
      *) own_piece "$line" ;;
    esac
  done
  unset IFS
  set +f
  while [ $# -gt 1 ]; do
    as_root "text.$1" "$2"
    shift 2
  done
  case $what in *' env '*) ;; *) return 0 ;; esac
  case $have in
    *' variable '*) ;;
    *) [ ! -f "$env" ] || variables_as_root ;;
  esac
  say_variables
}

say_sizes() {
  while [ $# -gt 1 ]; do
    known="${known}text.$1 "
    say "size.$1" "$(stat -c %s -- "$2" 2>/dev/null)"
    shift 2
  done
}

# as_root NAME PATH: when the agent itself could not read it.
as_root() {
  case $have in *" $1 "*) return 0 ;; esac
  [ ! -f "$2" ] || contents_as_root "$2" | in_pieces "$1"
}

variables_as_root() {
  part=variable
  IFS=$newline
  set -f
  for line in $(contents_as_root "$env"); do own_line "$line"; done
  set +f
  unset IFS
}

# A piece has 1500 bytes.
own_piece() {
  count=$((count + 1))
  case $part in
    gateway) [ "$count" -gt 134 ] || say "$part" "$1" ;;
    text.*) [ "$count" -gt 2667 ] || say "$part" "$1" ;;
  esac
}

own_line() {
  case $part in
    error) say error "$1" ;;
    variable) own_variable "$1" ;;
    version)
      case $1 in
        "${constants% *} = "*) unquoted "${1#*= }" && reports=$text ;;
        "${constants#* } = "*) unquoted "${1#*= }" && version=$text ;;
      esac
      ;;
  esac
}

# Keeps a line of `.env` in `variables`, after the name, when it is one that sets a variable.
own_variable() {
  rest=${1#"${1%%[![:space:]]*}"}
  case $rest in
    export[[:space:]]*=*)
      name=${rest#export}
      name=${name#"${name%%[![:space:]]*}"}
      case $name in =*) ;; *) rest=$name ;; esac
      ;;
    *=*) ;;
    *) return 0 ;;
  esac
  name=${rest%%=*}
  name=${name%"${name##*[![:space:]]}"}
  case $name in '' | [!A-Za-z_]* | *[!A-Za-z0-9_]*) return 0 ;; esac
  [ "${#name}" -gt 200 ] || variables="$variables$name $1$newline"
}

# Of `.env` the names and, to tell what would change, a salted digest of each line. One process digests seven lines: so many descriptors a
# shell has for here-documents, which are pipes (in bash since 5.1). Who has more than 1000 variables means to keep us busy.
say_variables() {
  count=0
  set -f
  IFS=$newline
  set -- $variables
  while [ $# -gt 0 ] && [ "$count" -lt 1000 ]; do
    if [ -z "$salt" ]; then
      say variable "${1%% *}"
      shift
      continue
    fi
    digests=$(sha256sum /dev/fd/3 /dev/fd/4 /dev/fd/5 /dev/fd/6 /dev/fd/7 /dev/fd/8 /dev/fd/9 \
      3<<END3 4<<END4 5<<END5 6<<END6 7<<END7 8<<END8 9<<END9
$salt${1#* }
END3
$salt${2#* }
END4
$salt${3#* }
END5
$salt${4#* }
END6
$salt${5#* }
END7
$salt${6#* }
END8
$salt${7#* }
END9
)
    for digest in $digests; do
      [ $# -gt 0 ] && [ "$count" -lt 1000 ] || break
      say variable "${1%% *} ${digest%% *}"
      count=$((count + 1))
      shift
    done
  done
  unset IFS
  set +f
}

# Run with the agent's rights. Each part begins with @ and its name; a line of text begins with a colon. What can take long comes last.
# Of a log whole lines since its start are told: half of one may be half of a secret.
read_own_files='PATH=/usr/bin:/bin LC_ALL=C
export LC_ALL
what=$1 env=$2 gateway=$3 log=$4 began=$5 models=$6 file=$7 launcher=$8 reports=$9
shift 9
version=$1
shift
is_text() { [ -f "$1" ] && [ -r "$1" ]; }
wants() { case $what in *" $1 "*) is_text "$2" ;; *) return 1 ;; esac; }
if wants version "$file" && [ -x "$launcher" ]; then
  echo @version
  left=20000
  while IFS= read -r line || [ -n "$line" ]; do
    left=$((left - ${#line} - 1))
    [ "$left" -ge 0 ] || break
    case $line in "$reports = "* | "$version = "*) printf ":%s\n" "$line" ;; esac
  done <"$file"
fi
if wants gateway "$gateway"; then
  echo @gateway
  base64 -w 2000 -- "$gateway"
fi
if wants errors "$log"; then
  echo @error
  tail -c 200002 -- "$log" | awk -v began="$began" -v models="$models" "
    { size += length(\$0) + 1; line[NR] = \$0 }
    END {
      for (at = size > 200001 ? 2 : 1; at <= NR; at++) {
        text = line[at]
        if (text ~ /^[0-9][0-9][0-9][0-9]-/) {
          size = substr(text, 20, 1) == \",\" ? 23 : 19
          keep = substr(text, 1, size) >= substr(began, 1, size)
        }
        if (keep && text ~ /^[0-9-]+ [0-9:,.]+ (ERROR|CRITICAL) / && !index(text, models)) told[++count] = text
      }
      for (at = count > 5 ? count - 4 : 1; at <= count; at++) print \":\" substr(told[at], 1, 1500)
    }"
fi
while [ $# -gt 1 ]; do
  if is_text "$2"; then
    echo "@text.$1"
    base64 -w 2000 -- "$2"
  fi
  shift 2
done
if wants env "$env"; then
  echo @variable
  while IFS= read -r line || [ -n "$line" ]; do printf ":%s\n" "$line"; done <"$env"
fi'
