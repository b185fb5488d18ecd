/**
 * `npm run bench -- --smoke`: every row once and as small as it goes, to see that it still works. What it then measures
 * says nothing. Nothing is installed for it: a peer that is missing is skipped.
 */
export const smoke = process.argv.includes("--smoke");

export const sized = (whole, smallest) => (smoke ? smallest : whole);

/** A playbook takes Ansible up to a minute even on one host; in a smoke run it is only read. */
export const playbookWords = sized([], ["--syntax-check"]);
