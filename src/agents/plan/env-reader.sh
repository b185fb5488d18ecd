# env-reader ENV COMMAND...: runs a command with the variables of an agent's `.env`, as systemd's EnvironmentFile= would. This runs with
# the agent's own rights: systemd would read the file as root, and the agent can put a link to another agent's in its place.
# POSIX sh. Reads what clm writes: NAME=plain, NAME='literal', NAME="with \" and \\ escaped"; other lines are passed over.
# Its own variables have names that no agent uses.
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
