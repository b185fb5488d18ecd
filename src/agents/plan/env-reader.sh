# env-reader ENV COMMAND...: runs a command with the variables of an agent's `.env`, like systemd's EnvironmentFile=,
# but with the agent's rights: systemd reads as root, and the agent can replace the file by a link to another agent's.
# POSIX sh. Reads what clm writes: NAME=plain, NAME='literal', NAME="with \" and \\ escaped"; ignores other lines. The
# prefix clm_ keeps its own variables apart from the agent's. The code below is part of files on hosts.
clm_env=$1
shift
[ -f "$clm_env" ] && [ -r "$clm_env" ] || { echo "$clm_env cannot be read" >&2; exit 78; }
while IFS= read -r clm_line || [ -n "$clm_line" ]; do
  clm_name=${clm_line%%=*} clm_value=${clm_line#*=}
  case $clm_line in *=*) ;; *) continue ;; esac
  case $clm_name in '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
  case $clm_value in
    "'"*"'")
      clm_value=${clm_value#"'"}
      clm_value=${clm_value%"'"}
      ;;
    '"'*'"')
      clm_rest=${clm_value#'"'}
      clm_rest=${clm_rest%'"'}
      clm_value=''
      while :; do
        case $clm_rest in *\\*) ;; *) break ;; esac
        clm_value=$clm_value${clm_rest%%\\*} clm_rest=${clm_rest#*\\}
        clm_value=$clm_value${clm_rest%"${clm_rest#?}"} clm_rest=${clm_rest#?}
      done
      clm_value=$clm_value$clm_rest
      ;;
  esac
  export "$clm_name=$clm_value"
done <"$clm_env"
unset clm_env clm_line clm_name clm_value clm_rest
exec "$@"
