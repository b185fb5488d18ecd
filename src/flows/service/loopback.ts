/** Whether a URL means the machine that sends the request: not the same from here as from the agent's host. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\]|0\.0\.0\.0)$/.test(
    hostname,
  );
}
