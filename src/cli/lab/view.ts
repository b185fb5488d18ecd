import type { Lab, LabHost } from "../../lab/lab.js";
import type { View } from "../command.js";
import type { RemovedLab } from "./down.js";

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

export const removedView: View<RemovedLab> = {
  columns: [
    { title: "lab", value: (lab) => lab.name },
    { title: "hosts", value: (lab) => lab.hosts.join(" ") },
  ],
  name: (lab) => lab.name,
};
