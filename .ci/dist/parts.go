package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// parts writes the list of the modules in a binary, as the binary itself has it.
func (r release) parts(t target, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: filepath.Base(binary),
		DocumentNamespace: "urn:ledge:" + r.version + ":" + t.name(),
		CreationInfo:      &spdx.CreationInfo{Created: r.at.Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Tool", Creator: "make dist"}}},
	}
	add := func(id, name, version, license, location string) {
		doc.Packages = append(doc.Packages, &spdx.Package{
			PackageName: name, PackageSPDXIdentifier: common.ElementID(id), PackageVersion: version,
			PackageDownloadLocation: location, PackageLicenseConcluded: license, PackageLicenseDeclared: license, PackageCopyrightText: "NOASSERTION",
		})
	}
	add("ledge", "ledge", r.version, "Apache-2.0", "NOASSERTION")
	doc.Relationships = append(doc.Relationships, &spdx.Relationship{RefA: common.MakeDocElementID("", "DOCUMENT"), RefB: common.MakeDocElementID("", "ledge"), Relationship: "DESCRIBES"})
	contain := func(id string) {
		doc.Relationships = append(doc.Relationships, &spdx.Relationship{RefA: common.MakeDocElementID("", "ledge"), RefB: common.MakeDocElementID("", id), Relationship: "CONTAINS"})
	}
	add("go", "go", strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause", "NOASSERTION")
	contain("go")
	for i, module := range info.Deps {
		id := fmt.Sprint("module-", i)
		add(id, module.Path, module.Version, "NOASSERTION", "NOASSERTION")
		p := doc.Packages[len(doc.Packages)-1]
		p.PackageExternalReferences = []*spdx.PackageExternalReference{{
			Category: "PACKAGE-MANAGER", RefType: "purl", Locator: "pkg:golang/" + module.Path + "@" + module.Version,
		}}
		contain(id)
	}
	out, err := os.Create(binary + ".spdx.json")
	if err != nil {
		return err
	}
	if err := json.Write(doc, out, json.Indent("  ")); err != nil {
		return err
	}
	return out.Close()
}
