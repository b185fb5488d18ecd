import { describe, expect, it } from "vitest";
import { archiveSettings, debianAmong, parseList, parseSources, sourceFor } from "../../../src/lab/mirror.js";

const archiveKey = "/usr/share/keyrings/debian-archive-keyring.gpg";

describe("which entry is Debian itself", () => {
  const cases: { name: string; list?: string; sources?: string; uris: string[] | undefined }[] = [
    { name: "nothing", uris: undefined },
    { name: "a plain line", list: "deb http://mirror.test/debian bookworm main", uris: ["http://mirror.test/debian"] },
    { name: "a line that is off", list: "# deb http://mirror.test/debian bookworm main", uris: undefined },
    { name: "source packages only", list: "deb-src http://mirror.test/debian bookworm main", uris: undefined },
    { name: "another release", list: "deb http://mirror.test/debian bullseye main", uris: undefined },
    { name: "without main", list: "deb http://mirror.test/debian bookworm contrib", uris: undefined },
    { name: "an installation disc", list: "deb cdrom:[Debian 12]/ bookworm main", uris: undefined },
    {
      name: "a comment behind, options before",
      list: `deb [arch=amd64 signed-by=${archiveKey}]  http://mirror.test/debian  bookworm  main contrib # ours`,
      uris: ["http://mirror.test/debian"],
    },
    {
      name: "a vendor with the same suite and component comes first",
      list: [
        "deb [signed-by=/etc/apt/keyrings/vendor.gpg] https://vendor.test/apt bookworm main",
        "deb http://mirror.test/debian bookworm main",
      ].join("\n"),
      uris: ["http://mirror.test/debian"],
    },
    {
      name: "a vendor without a key of its own beside a Debian that has updates",
      list: [
        "deb https://vendor.test/apt bookworm main",
        "deb http://mirror.test/debian/ bookworm main",
        "deb http://mirror.test/debian bookworm-updates main",
      ].join("\n"),
      uris: ["http://mirror.test/debian/"],
    },
    {
      name: "only a vendor",
      list: "deb [signed-by=/etc/apt/keyrings/vendor.gpg] https://vendor.test/apt bookworm main",
      uris: undefined,
    },
    {
      name: "a mirror signed again by its own key, told by its updates",
      sources:
        "Types: deb\nURIs: https://in.test/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: /etc/in.gpg\n",
      uris: ["https://in.test/debian"],
    },
    {
      name: "deb822 with comments, folded lines, several places and security beside it",
      sources: `# made by the installer
Types: deb deb-src
# http://old.test/debian
URIs: http://one.test/debian
 http://two.test/debian
Suites: bookworm bookworm-updates
Components: main non-free-firmware
Signed-By: ${archiveKey}

Types: deb
URIs: http://sec.test/debian-security
Suites: bookworm-security
Components: main
Signed-By: ${archiveKey}
`,
      uris: ["http://one.test/debian", "http://two.test/debian"],
    },
    {
      name: "deb822 that is off",
      sources: "Enabled: no\nTypes: deb\nURIs: http://mirror.test/debian\nSuites: bookworm\nComponents: main\n",
      uris: undefined,
    },
  ];
  it.each(cases)("$name", ({ list = "", sources = "", uris }) => {
    expect(debianAmong([...parseList(list), ...parseSources(sources)], "bookworm")?.uris).toEqual(uris);
  });
});

describe("the same place for another release", () => {
  const asked = (text: string, parse: typeof parseList) => {
    const [source] = parse(text);
    return source && sourceFor("trixie", source, "bookworm");
  };

  it("keeps how it is trusted and asks for main alone", () => {
    expect(
      asked(`deb [arch=amd64 signed-by=${archiveKey} trusted=no] http://m.test/d bookworm main contrib`, parseList),
    ).toBe(
      `Types: deb\nURIs: http://m.test/d\nSuites: trixie\nComponents: main\nSigned-By: ${archiveKey}\nTrusted: no\nArchitectures: amd64\n`,
    );
  });

  it("takes the wanted release's keyring where there is one per release", () => {
    const text =
      "Types: deb\nURIs: http://m.test/d\nSuites: bookworm\nComponents: main\nSigned-By: /k/debian-archive-bookworm-stable.gpg\n";
    expect(asked(text, parseSources)).toContain("Signed-By: /k/debian-archive-trixie-stable.gpg\n");
  });

  it("keeps a key that is written into the file", () => {
    const key = "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEZ\n -----END PGP PUBLIC KEY BLOCK-----";
    const text = `Types: deb\nURIs: http://m.test/d\nSuites: bookworm\nComponents: main\nSigned-By:${key}\n`;
    expect(asked(text, parseSources)).toContain(`Signed-By: ${key}\n`);
  });
});

it("takes from apt's settings only how the archive is reached", () => {
  const dump = `APT "";
Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://proxy.test:3128";
Acquire::http::Proxy::direct.test "DIRECT";
Acquire::https::CaInfo "/etc/ca.pem";
Acquire::IndexTargets::deb::Packages::MetaKey "$(COMPONENT)/Packages";
Acquire::Languages:: "none";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
Acquire::Changelogs::URI::Origin::Debian "https://changelogs.test/";
DPkg::Post-Invoke:: "rm -f /var/cache/apt/archives/*.deb";
`;
  expect(archiveSettings(dump)).toBe(`Acquire::http::Proxy "http://proxy.test:3128";
Acquire::http::Proxy::direct.test "DIRECT";
Acquire::https::CaInfo "/etc/ca.pem";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
`);
});
