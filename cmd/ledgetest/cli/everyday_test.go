package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestEverydayPage types the commands of docs/everyday.md.
func TestEverydayPage(t *testing.T) {
	d := ledgetest.NewDesk(t)
	p := d.Serve("ledge serve --data-dir data", "data")
	p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", "42")
	ledgetest.Until(t, "the reading to be there", func() bool {
		return strings.Contains(p.Call(http.MethodGet, p.CoreData+"/api/v2/reading/all", "", "").Body, `"totalCount":1`)
	})
	blocks := ledgetest.ShellBlocks(ledgetest.MustReadDocs(t, "everyday.md"))
	for i, wants := range [][]string{
		{"sample-json", "device cam-1 added", "device cam-1 locked"},
		{"device cam-1 changed: description", "device cam-1 unlocked", "device cam-1 removed"},
		nil,
		{"device sample-json to be changed: adminState: UNLOCKED → LOCKED", "0 added, 1 changed, 0 removed"},
	} {
		out := d.Run(blocks[i], "")
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s\nprints %s\nwant %s", blocks[i], out, want)
			}
		}
	}
	if len(blocks) != 4 {
		t.Errorf("docs/everyday.md has %d blocks", len(blocks))
	}
	rows, err := csv.NewReader(strings.NewReader(ledgetest.MustRead(t, d.Path("readings.csv")))).ReadAll()
	if err != nil || len(rows) != 2 || rows[0][1] != "deviceName" || rows[1][3] != "42" {
		t.Errorf("readings.csv: %v, %v", rows, err)
	}
}

// TestEveryday lists in all forms, refuses wrong input, and goes on behind refusals.
func TestEveryday(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	run := func(code int, wants string, args ...string) string {
		t.Helper()
		out, stderr, got := ledgetest.Run(t, append(args, "--data-dir", dir)...)
		if got != code || !strings.Contains(out+stderr, wants) {
			t.Errorf("%v: exit code %d, %s%s; want %d and %s", args, got, out, stderr, code, wants)
		}
		return out
	}
	p.AddDevice("cam-1")
	for _, kind := range []string{"device", "profile", "service", "watcher", "subscription"} {
		run(exit.OK, "NAME", kind, "list")
		var list []map[string]any
		if err := json.Unmarshal([]byte(run(exit.OK, "[", kind, "list", "--output", "json")), &list); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	one := run(exit.OK, `"name": "cam-1"`, "device", "get", "cam-1", "--output", "json")
	file := ledgetest.MustWriteFile(t, "two.yaml", "["+one+","+strings.Replace(one, "cam-1", "cam-2", 1)+"]")
	out := run(exit.Failure, `device name "cam-1" exists already`, "device", "add", file)
	if !strings.Contains(out, "device cam-2 added") {
		t.Errorf("add: %s", out)
	}
	run(exit.Failure, "device cam-2 locked", "device", "lock", "nosuch", "cam-2")
	run(exit.OK, "LOCKED", "device", "get", "cam-2")
	run(exit.Failure, `device "nosuch" does not exist; `+"`ledge device list` has the names", "device", "get", "nosuch")
	run(exit.Usage, "use table, json, yaml or csv", "device", "list", "--output", "xml")
	run(exit.Usage, "something else than device profiles", "profile", "add", ledgetest.MustWriteFile(t, "bad.yaml", "- 7\n"))
	run(exit.Usage, "did not find expected", "profile", "add", ledgetest.MustWriteFile(t, "bad2.yaml", "a: [\n"))
	run(exit.Usage, "The text is not JSON, YAML, TOML or CSV", "device", "add", ledgetest.MustWriteFile(t, "bad3.yaml", "a: [\n"))
	list := ledgetest.MustWriteFile(t, "edgex.toml",
		"[[deviceList]]\nname = \"cam-3\"\nprofileName = \"sample-image\"\n[deviceList.protocols.other]\nA = \"1\"\n")
	run(exit.OK, "device cam-3 added", "device", "add", list, "--service", "device-rest")
	table := ledgetest.MustWriteFile(t, "list.csv", "name,protocols.other.A\ncam-4,1\ncam-5,2\n")
	run(exit.OK, "device cam-5 added", "device", "add", table, "--service", "device-rest", "--profile", "sample-image")
	run(exit.Usage, "without a port", "device", "list", "--server", "https://edge:59881")
	run(exit.Usage, "are for --server", "device", "list", "--ca", "ca.pem")
	run(exit.Usage, "ledge device list", "device", "list", "--nosuch")
	t.Setenv("EDITOR", "sed -i 's/^name: .*/name: other/'")
	run(exit.Usage, "a name cannot be changed", "device", "edit", "cam-1")
	t.Setenv("EDITOR", "false")
	run(exit.Failure, "nothing is changed", "device", "edit", "cam-1")
	t.Setenv("EDITOR", "true")
	run(exit.OK, "is not changed", "device", "edit", "cam-1")
	t.Setenv("EDITOR", "sed -i 's/^labels:/labels: []\\nxlabels:/; /^xlabels/,/^[a-z]/{/^xlabels/d;/^    - /d}'")
	run(exit.OK, "device cam-2", "device", "edit", "cam-2")
	if names, _, _ := ledgetest.Run(t, "__complete", "device", "get", "--data-dir", dir, ""); !strings.Contains(names, "cam-1\n") {
		t.Errorf("completion: %s", names)
	}
	p.Stop()
	run(exit.Usage, "needs a running one", "device", "list")
}

// TestApply saves a site, and applies changed, new, wrong and missing files, first without a change.
func TestApply(t *testing.T) {
	dir, site := t.TempDir(), filepath.Join(t.TempDir(), "site")
	p := ledgetest.Start(t, dir)
	for _, name := range []string{"cam-1", "cam-2", "cam:3"} {
		p.AddDevice(name)
	}
	ledgetest.SubscribeElsewhere(p)
	run := func(code int, wants string, args ...string) {
		t.Helper()
		out, stderr, got := ledgetest.Run(t, append(args, "--data-dir", dir)...)
		if got != code || !strings.Contains(out+stderr, wants) {
			t.Errorf("%v: exit code %d, %s%s; want %d and %s", args, got, out, stderr, code, wants)
		}
	}
	run(exit.Usage, "has none of the folders", "apply", site)
	run(exit.OK, "6 devices", "save", site)
	run(exit.OK, "0 added, 0 changed, 0 removed; 11 the same", "apply", site, "--prune")
	change := func(path, old, new string) {
		t.Helper()
		path = filepath.Join(site, path)
		text := strings.Replace(ledgetest.MustRead(t, path), old, new, 1)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("device/cam-1.yaml", "adminState: UNLOCKED", "adminState: LOCKED\ndescription: over the door")
	change("subscription/elsewhere.yaml", "receiver: r", "receiver: s")
	change("profile/sample-json.yaml", "description: JSON objects", "description: objects")
	if err := os.Rename(filepath.Join(site, "device/cam-2.yaml"), filepath.Join(site, "device/new.yml")); err != nil {
		t.Fatal(err)
	}
	change("device/new.yml", "name: cam-2", "name: new")
	ledgetest.MustWrite(t, filepath.Join(site, "device/wrong.json"), `{"name":"wrong","profileName":"nosuch","serviceName":"device-rest",
		"protocolName":"rest","protocols":{"other":{}},"adminState":"UNLOCKED","operatingState":"UP"}`)
	before := len(ledgetest.Logged(t, dir))
	run(exit.OK, "device cam-2 to be removed", "apply", site, "--dry-run", "--prune")
	if after := len(ledgetest.Logged(t, dir)); after != before {
		t.Error("the dry run has changed something")
	}
	run(exit.Failure, `device profile "nosuch"`, "apply", site, "--prune")
	run(exit.Failure, "0 added, 0 changed, 0 removed; 11 the same", "apply", site, "--prune")
	for path, want := range map[string]string{
		p.Metadata + "/api/v2/device/name/cam-1":                `"description":"over the door"`,
		p.Metadata + "/api/v2/device/name/cam-2":                `"statusCode":404`,
		p.Metadata + "/api/v2/device/name/new":                  `"statusCode":200`,
		p.Metadata + "/api/v2/deviceprofile/name/sample-json":   `"description":"objects"`,
		p.Notifications + "/api/v2/subscription/name/elsewhere": `"receiver":"s"`,
	} {
		if a := p.Call(http.MethodGet, path, "", ""); !strings.Contains(a.Body, want) {
			t.Errorf("%s: got %s, want %s", path, a.Body, want)
		}
	}
	run(exit.OK, "6 devices", "save", site)
	if _, err := os.Stat(filepath.Join(site, "device/wrong.json")); err == nil {
		t.Error("the file of an entity that does not exist is left")
	}
	ledgetest.MustWrite(t, filepath.Join(site, "profile/numbers.yaml"), "deviceProfileList: 1\nname: numbers\n"+
		"deviceResources:\n- name: r\n  properties: {valueType: Int16, readWrite: RW, minimum: 1, scale: 1.10}\n  attributes: {at: 0x1F}\n")
	ledgetest.MustWrite(t, filepath.Join(site, "watcher/new.csv"), "name,labels\nw,a\n")
	run(exit.Usage, `provision watcher 1, "w": `, "apply", site)
	if err := os.Remove(filepath.Join(site, "watcher/new.csv")); err != nil {
		t.Fatal(err)
	}
	run(exit.OK, "ignored, because unknown: deviceProfileList", "apply", site)
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/deviceprofile/name/numbers", "", ""); !strings.Contains(a.Body, `"scale":"1.10"`) ||
		!strings.Contains(a.Body, `"at":31`) {
		t.Errorf("got %s", a.Body)
	}
	run(exit.OK, "0 added, 0 changed, 0 removed; 12 the same", "apply", site)
	change("device/cam-1.yaml", "name: cam-1", "name: new")
	run(exit.Usage, "is in two files", "apply", site)
}

// TestEverydayElsewhere asks another node over TLS, with a token in a file and in the environment.
func TestEverydayElsewhere(t *testing.T) {
	s := ledgetest.StartSecured(t)
	ca := ledgetest.MustWriteFile(t, "ca.pem", ledgetest.CA(s.Node))
	port := s.Metadata[strings.LastIndexByte(s.Metadata, ':')+1:]
	run := func(code int, wants string, args ...string) {
		t.Helper()
		args = append(args, "--server", "https://127.0.0.1", "--ca", ca, "--metadata-port", port)
		if out, stderr, got := ledgetest.Run(t, args...); got != code || !strings.Contains(out+stderr, wants) {
			t.Errorf("%v: exit code %d, %s%s; want %d and %s", args, got, out, stderr, code, wants)
		}
	}
	run(exit.Failure, "a login is needed", "device", "list")
	viewer := ledgetest.MustWriteFile(t, "token", s.Tokens[domain.Viewer]+"\n")
	run(exit.OK, "sample-image", "device", "list", "--token-file", viewer)
	run(exit.Failure, "viewer", "device", "lock", "sample-image", "--token-file", viewer)
	t.Setenv("LEDGE_TOKEN", s.Tokens[domain.Operator])
	run(exit.OK, "device sample-image locked", "device", "lock", "sample-image")
	out, stderr, code := ledgetest.Run(t, "device", "list", "--server", "https://127.0.0.1", "--metadata-port", port)
	if code != exit.Failure || !strings.Contains(stderr, "certificate") {
		t.Errorf("without the CA: %d %s%s", code, out, stderr)
	}
	_, stderr, code = ledgetest.Run(t, "device", "list", "--server", "http://edge-7")
	if code != exit.Usage || !strings.Contains(stderr, "over https only") {
		t.Errorf("a token over http: %d %s", code, stderr)
	}
	history := s.Send(s.Tokens[domain.Admin], http.MethodGet, s.Metadata+"/api/v2/ledger/history/device/sample-image?limit=1", "", "").Body
	if want := fmt.Sprintf("%q", "token:a-operator"); !strings.Contains(history, want) {
		t.Errorf("got %s, want %s", history, want)
	}
}

// TestReadingsAsCSV prints all readings, of several pages of the API, and some.
func TestReadingsAsCSV(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	var readings []string
	for i := range 1000 {
		readings = append(readings, fmt.Sprintf(
			`{"origin":%d,"deviceName":"meter","profileName":"m","resourceName":"power","valueType":"String","value":"=%d"}`, 1000+i, i))
	}
	body := fmt.Sprintf(`{"apiVersion":"v2","event":{"apiVersion":"v2","id":"00000000-0000-7000-8000-000000000001","deviceName":"meter",`+
		`"profileName":"m","sourceName":"power","origin":1,"readings":[%s]}}`, strings.Join(readings, ","))
	if a := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/m/meter/power", "application/json", body); a.Status != http.StatusCreated {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	for limit, want := range map[string]int{"0": 1000, "20": 20, "500": 500, "700": 700, "2000": 1000} {
		args := []string{"reading", "list", "--device", "meter", "--limit", limit, "--output", "csv", "--data-dir", dir}
		out, stderr, code := ledgetest.Run(t, args...)
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if code != 0 || err != nil || len(rows) != want+1 || rows[0][3] != "value" {
			t.Fatalf("--limit %s: exit code %d, %s, %d rows, want %d, %v", limit, code, stderr, len(rows)-1, want, err)
		}
		for i, row := range rows[1:] {
			if wants := fmt.Sprintf("'=%d", 999-i); row[3] != wants {
				t.Fatalf("--limit %s: row %d has the value %q, want %q", limit, i, row[3], wants)
			}
		}
	}
}
