import { randomBytes } from "node:crypto";
import { Fault } from "../../../errors.js";
import { relay } from "../../../gateway/signing/relay.js";
import { type Signer, signerOf } from "../../../gateway/signing/sign.js";
import { Secret } from "../../../secret.js";
import { parseSource, type SecretSource, secretFrom } from "../../secret-source.js";
import type { Session } from "../../session.js";
import { listenOnLoopback } from "../../tunnel/listen-on-loopback.js";
import { baseOf, gatewayFrom } from "../address.js";
import { signatureCovers } from "../covered-headers.js";
import { defaultGatewayUrl, defaultSignProxyPort } from "../defaults.js";
import { noProxyHost, type ToolTarget } from "../environment.js";
import { type GatewayProbe, probeGateway } from "./probe-gateway.js";

export interface SignProxyOptions {
  key: SecretSource;
  to?: string | undefined;
  port?: number | undefined;
  /** Source of the local key, such as `env:NAME`. */
  localKey?: string | undefined;
  /** No local key is required. */
  open: boolean;
}

export interface SignProxyState {
  port: number;
  keyId: string;
  gateway: string;
  target: ToolTarget;
  probe: GatewayProbe;
  /** The local key, if it was generated: to be printed once. */
  made: Secret | undefined;
  open: boolean;
}

export async function signProxy(
  session: Session,
  asked: SignProxyOptions,
  tell: (opened: SignProxyState) => void,
): Promise<void> {
  const { ui, now, signal, env } = session;
  const to = gatewayFrom("--to", asked.to ?? defaultGatewayUrl);
  const source = asked.localKey === undefined ? undefined : parseSource(asked.localKey);
  if (source && asked.open) throw new Fault("usage", "--open and --local-key exclude each other");
  const signer = await signerFrom(session, asked.key);
  const given = source && (await secretFrom(session, source, { what: "the local key", flag: "--local-key env:NAME" }));
  if (given) mustBeBearer(given);
  const made = given || asked.open ? undefined : new Secret(`local_${randomBytes(24).toString("base64url")}`);

  const covered = await signatureCovers();
  const server = relay({ signer, to, local: given ?? made, covered, now });
  const wanted = { port: asked.port, preferred: defaultSignProxyPort, next: "clm gateway sign-proxy --help" };
  const here = await listenOnLoopback(wanted, (socket) => {
    server.emit("connection", socket);
    socket.resume();
  });
  try {
    const probe = await probeGateway({ signer, to, covered, now, signal });
    const base = new URL(`http://127.0.0.1:${here.port}`);
    const target = { base: baseOf(base), model: probe.models[0] ?? "AGENT", noProxy: noProxyHost(base, env) };
    const stopped = new Promise<void>((stop) => signal.addEventListener("abort", () => stop(), { once: true }));
    signal.throwIfAborted();
    tell({ port: here.port, keyId: signer.id, gateway: to.origin, target, probe, made, open: asked.open });
    if (made) ui.hide(made);
    await stopped;
  } finally {
    await here.close();
  }
}

async function signerFrom(session: Session, source: SecretSource): Promise<Signer> {
  const key = await secretFrom(session, source, { what: "the gateway key", flag: "--key-file FILE or --key-env NAME" });
  const signer = signerOf(key);
  if (!signer) {
    throw new Fault("bad-input", "that is not a gateway key", {
      why: "a key is clm_, its id, _ and 43 more characters; it is printed once, when it is created",
      next: "clm gateway key create --help",
    });
  }
  session.ui.hide(signer.secret);
  return signer;
}

function mustBeBearer(local: Secret): void {
  if (/^[\x21-\x7e]{16,}$/.test(local.reveal())) return;
  throw new Fault("bad-input", "the local key cannot be sent, or is easy to guess", {
    why: "it should be at least 16 letters, digits and signs, without spaces",
    flag: "--local-key",
  });
}
