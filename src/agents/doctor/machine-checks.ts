export const machineChecks = {
  "config.dir": "the config directory is there and its owner's alone",
  "config.files": "every file of clm's state is its owner's alone, secrets.json above all",
  "config.state": "the recorded state can be read",
  "config.secrets": "no secret is stored for a removed host, agent or provider",
  "config.providers": "every provider that an agent uses exists",
  "config.locks": "no lock is left over from a killed clm",
  node: "the Node.js that runs clm is one it supports",
  ssh: "ssh and ssh-keygen are installed, for the commands that clm suggests",
  clock: "no file in the config directory has a time in the future",
} as const;
