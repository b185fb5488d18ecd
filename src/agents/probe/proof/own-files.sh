# The agent's own files, read with its rights. Used with proof.sh, after probe_account, probe_files and probe_unit.

# probe_own_files LAUNCHER REPORTS VERSION [PART PATH]...: PART is version, gateway, error, text.NAME or variable. Sets
# `reports` and `version` as probe_version does.
probe_own_files() {
  reports='' version='' variables='' received=' ' requested=' ' last_part='' began_local='' launcher=$1 constants="$2 $3"
  shift 3
  [ -n "$uid" ] || return 0
  rest=$#
  while [ "$rest" -gt 1 ]; do
    if is_current "$1"; then
      size=${sizes##*" $1="}
      set -- "$@" "$1" "$2" "${size%% *}"
      requested="$requested$1 "
    fi
    shift 2
    rest=$((rest - 2))
  done
  lines=$(read_as_agent 10 20000000 /bin/sh -c "$read_own_files" sh "$print_own_files" "$launcher" "$constants" \
    "$began_local" "${models-}" "$@")
  set -f
  IFS=$newline
  for line in $lines; do
    part=${line%%[:>]*}
    # The agent controls this process: accept only the parts that were requested.
    case $requested in *" $part "*) parse_line "${line#"$part"}" ;; esac
  done
  unset IFS
  set +f
  while [ $# -gt 2 ]; do
    case $1 in text.* | variable) read_as_root "$1" "$2" ;; esac
    shift 3
  done
  case $requested in *' variable '*) say_variables ;; esac
}

# The channel states are valid only while the agent runs, and errors only since its start.
is_current() {
  case $1 in
    gateway) [ "${pid:-0}" != 0 ] ;;
    error) find_local_start; [ -n "$began_local" ] ;;
  esac
}

# read_as_root PART PATH: for a file that the agent itself cannot read.
read_as_root() {
  case $received in *" $1 "*) return 0 ;; esac
  [ -s "$2" ] && [ -f "$2" ] || return 0
  if [ "$1" != variable ]; then contents_as_root "$2" | say_base64 "$1"; return; fi
  set -f
  IFS=$newline
  for line in $(contents_as_root "$2"); do parse_variable "$line"; done
  unset IFS
  set +f
}

# parse_line TEXT: a line of `part` after a colon or, when the next one continues it, after `>`.
parse_line() {
  [ "$part" = "$last_part" ] || received="$received$part " last_part=$part bytes=0
  bytes=$((bytes + ${#1}))
  case $part in
    error) say error "${1#:}" ;;
    variable) parse_variable "${1#:}" ;;
    version)
      case $1 in
        ":${constants% *} = "*) unquote_version "${1#*= }" && reports=$text ;;
        ":${constants#* } = "*) unquote_version "${1#*= }" && version=$text ;;
      esac
      ;;
    gateway) [ "$bytes" -gt 200000 ] || say "$part" "$1" ;;
    *) [ "$bytes" -gt 4000000 ] || say "$part" "$1" ;;
  esac
}

# Appends `NAME LINE` to `variables` when the line of `.env` sets a variable.
parse_variable() {
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

# The names in `.env` and a salted digest of each line, to detect changes. One process digests seven lines, as a shell
# has seven free descriptors for here-documents (pipes, in bash since 5.1). More than 1000 variables are an attack.
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

# Run with the agent's rights: PROGRAM LAUNCHER CONSTANTS BEGAN MODELS [PART PATH SIZE]... awk replaces the shell; only
# a long log takes more processes. Only regular files: opening a FIFO blocks.
read_own_files='PATH=/usr/bin:/bin LC_ALL=C
export LC_ALL
program=$1 launcher=$2 constants=$3 began=$4 models=$5 log=""
shift 5
rest=$#
while [ "$rest" -gt 2 ]; do
  if [ -f "$2" ] && [ -r "$2" ]; then
    case $1 in
      version) [ ! -x "$launcher" ] || set -- "$@" part=version "$2" ;;
      error) if [ "$3" -gt 1000000 ]; then log=$2; else set -- "$@" part=error "$2"; fi ;;
      *) set -- "$@" "part=$1" "size=$3" "$2" ;;
    esac
  fi
  shift 3
  rest=$((rest - 3))
done
set -- -v reports="${constants% *}" -v version="${constants#* }" -v began="$began" -v models="$models" -- "$program" "$@"
[ -z "$log" ] || { tail -c 200000 -- "$log" | awk "$@" part=error cut=1 -; exit; }
exec awk "$@" /dev/null'

# Prints PART:LINE, or PART>PIECE when the line continues or its file ends without a newline. Does not split characters.
# Of a log only whole lines since the start of the agent: half a line may be half a secret.
print_own_files='
part == "version" {
  read += length($0) + 1
  if (read <= 20000 && (index($0, reports " = ") == 1 || index($0, version " = ") == 1)) print part ":" $0
  next
}
part == "error" {
  if (cut && FNR == 1) next
  if ($0 ~ /^[0-9][0-9][0-9][0-9]-/) {
    length_of_time = substr($0, 20, 1) == "," ? 23 : 19
    keep = substr($0, 1, length_of_time) >= substr(began, 1, length_of_time)
  }
  if (keep && $0 ~ /^[0-9-]+ [0-9:,.]+ (ERROR|CRITICAL) / && !index($0, models)) errors[count++ % 5] = $0
  next
}
part == "variable" { print part ":" $0; next }
{
  if (FNR == 1) sum = 0
  sum += length($0) + 1
  line = $0
  while (length(line) > 1500) {
    size_of_piece = 1500
    while (size_of_piece > 1497 && substr(line, size_of_piece + 1, 1) ~ /[\200-\277]/) size_of_piece--
    print part ">" substr(line, 1, size_of_piece)
    line = substr(line, size_of_piece + 1)
  }
  print part (sum == size + 1 ? ">" : ":") line
}
END {
  for (at = count > 5 ? count - 5 : 0; at < count; at++) print "error:" substr(errors[at % 5], 1, 1500)
}'
