const reports: Record<string, string> = { "2026.5.7": "0.13.0", "2026.7.1": "0.18.0" };

/** The output of proof.sh for a correctly installed agent `ada`. */
export const installedLines = (version: string): string[] => [
  "uid=1001",
  `version=Hermes Agent v${reports[version]} (${version})`,
  "file.home=directory:ada:700",
  "file.data=directory:ada:700",
  "file.memories=directory:ada:700",
  "file.env=regular file:ada:600",
  "file.config=regular file:ada:600",
  "unit.LoadState=loaded",
];

/** The lines of a healthy agent. */
export const healthyLines = (version: string): string[] => [
  ...installedLines(version),
  "unit.ActiveState=active",
  "unit.SubState=running",
  "unit.NRestarts=0",
  "unit.MainPID=700",
  "unit.ExecMainStartTimestamp=Mon 2026-11-16 11:00:00.500000 UTC",
  "age=1000",
  "listen=0100007F/7",
  "holder=yes 700 ada hermes",
  "open-ports=yes",
  "health=200",
  "none=401",
  "wrong=401",
  "own=200",
  "connections=yes",
];
