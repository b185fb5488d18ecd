export const machineChecks = {
  "config.dir": "the config directory is there and its owner's alone",
  "config.files": "every file of clm's state is its owner's alone, secrets.json above all",
  "config.state": "what is recorded can be read",
  "config.secrets": "no secret is kept of a host, agent or provider that is no more",
  "config.providers": "every provider that an agent uses is known",
  "config.locks": "no lock is left by a clm that was killed",
  node: "the Node.js that runs clm is one it supports",
  ssh: "ssh and ssh-keygen are installed, for the commands that clm suggests",
  clock: "nothing here was written in the future",
} as const;
