import { command, oneOf } from "../command.js";

export const completion = command({
  path: "completion",
  summary: "print the completion script for your shell",
  description: "Completes commands, options, and the names of your hosts and agents.",
  args: { shell: oneOf(["bash", "zsh", "fish"], "your shell") },
  examples: [
    "source <(clm completion bash)   # this shell only",
    "clm completion bash > ~/.local/share/bash-completion/completions/clm",
    "clm completion zsh > ~/.zfunc/_clm   # with ~/.zfunc in $fpath before compinit",
    "clm completion fish > ~/.config/fish/completions/clm.fish",
  ],
  load: () => import("./completion.js"),
});
