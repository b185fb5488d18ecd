import { createHash } from "node:crypto";
import { join } from "node:path";
import { Fault } from "../errors.js";

export function paths(env: NodeJS.ProcessEnv = process.env): { labs: string; cache: string } {
  const labs = env.CLM_LAB_DIR || "/var/lib/clm-lab";
  const cache = env.CLM_LAB_CACHE || "/var/cache/clm-lab";
  for (const path of [labs, cache]) {
    // Both become part of an overlay's mount options, which these characters separate.
    if (!path.startsWith("/") || /[,:\\\s]/.test(path)) {
      throw new Fault("bad-input", `a lab cannot be kept in '${path}'`, {
        why: "the path must be absolute and without comma, colon, backslash or space",
      });
    }
  }
  return { labs, cache };
}

export type LabNames = ReturnType<typeof labNames>;
export type HostNames = ReturnType<LabNames["host"]>;

/**
 * Every name a lab uses on the machine, derived from its own name and directory: `down` must find them all when the record
 * is lost. Interface names have 15 characters, so a digest stands for the lab.
 */
export function labNames(text: string, labs: string = paths().labs) {
  const lab = labNameFrom(text);
  const directory = join(labs, lab);
  const tag = createHash("sha256").update(directory).digest("hex").slice(0, 8);
  /** Every network namespace and cgroup of this lab starts with this. */
  const prefix = `clm-${tag}-`;
  /** Every network interface of this lab starts with this. */
  const links = `clm${tag}`;
  return {
    lab,
    directory,
    bridge: links,
    links,
    prefix,
    filter: `clm_lab_${tag}`,
    host(number: number) {
      const name = `${lab}-${number}`;
      return {
        number,
        /** `lab-1` */
        name,
        directory: join(directory, name),
        netns: prefix + name,
        veth: `${links}-${number}`,
        cgroup: prefix + name,
      };
    },
  };
}

/** The packet filter's name for any lab, wherever that is kept. */
export const anyFilter = /\bclm_lab_[0-9a-f]{8}\b/;

// Part of host names, which DNS and sudo must accept.
export const isLabName = (text: string): boolean => /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/.test(text);

export function labNameFrom(text: string): string {
  if (isLabName(text)) return text;
  throw new Fault("bad-input", `'${text}' cannot be a lab's name`, {
    why: "a name is 1 to 32 of a-z 0-9 - and starts and ends with a letter or digit",
  });
}

/** The lab and number in a host's name; undefined for another name. */
export function splitHostName(host: string): { lab: string; number: number } | undefined {
  const [, lab, number] = /^(.+)-([1-9][0-9]{0,2})$/.exec(host) ?? [];
  return lab !== undefined && number !== undefined ? { lab, number: Number(number) } : undefined;
}
