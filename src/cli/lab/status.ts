import { type Lab, type LabHost, status as labStatus } from "../../lab/lab.js";
import type { Handler, View } from "../command.js";
import type { status } from "./commands.js";

export const run: Handler<typeof status> = async ({ options }, clm) => {
  clm.list((await labStatus(options.name)).flatMap(labRows), labView);
};

interface LabRow extends LabHost {
  lab: string;
  release: string;
}

export const labRows = ({ name, release, hosts }: Lab): LabRow[] =>
  hosts.map((host) => ({ ...host, lab: name, release }));

export const labView: View<LabRow> = {
  columns: [
    { title: "name", value: (host) => host.name },
    { title: "lab", value: (host) => host.lab },
    { title: "release", value: (host) => host.release },
    { title: "address", value: (host) => host.address },
    { title: "user", value: (host) => host.user },
    { title: "state", value: (host) => host.state },
  ],
  name: (host) => host.name,
  empty: "No lab is up. Create one with: clm lab up",
};
