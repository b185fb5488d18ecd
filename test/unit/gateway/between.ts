import { afterEach } from "vitest";
import {
  door,
  type Responder,
  type TestGateway,
  type TestGatewayOptions,
  type Upstream,
  upstream,
} from "./test-gateway.js";

/** Opens real gateways between callers and real servers, and closes them after each test. */
export function betweens() {
  const open: { stop(): Promise<void> }[] = [];
  const ups: Upstream[] = [];
  afterEach(async () => {
    await Promise.all(ups.splice(0).map((each) => each.close()));
    await Promise.all(open.splice(0).map((each) => each.stop()));
  });

  async function between(
    answering: Responder,
    options: TestGatewayOptions = {},
  ): Promise<{ up: Upstream; gateway: TestGateway }> {
    const up = await upstream(answering);
    ups.push(up);
    const gateway = await door({ port: up.port, proxyPort: up.port, ...options });
    open.push(gateway);
    return { up, gateway };
  }
  return { between, open };
}
