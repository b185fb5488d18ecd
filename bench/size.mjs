/**
 * `npm run bench -- --smoke` runs every row once, at its smallest size, to check that it still works. Its numbers mean
 * nothing. It installs nothing: a missing peer is skipped.
 */
export const smoke = process.argv.includes("--smoke");

export const sized = (whole, smallest) => (smoke ? smallest : whole);

/** A playbook takes Ansible up to a minute even on one host; a smoke run only checks its syntax. */
export const playbookWords = sized([], ["--syntax-check"]);
