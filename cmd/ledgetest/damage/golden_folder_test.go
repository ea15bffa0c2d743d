package damage

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
	"ledge/store/storetest"
)

// goldenDir has a data folder that an earlier version wrote, and what that version answered about it. Neither is ever written again:
// an answer changes only together with a line in docs/reference/edgex-differences.md.
const goldenDir = "testdata/golden"

// goldenAnswer is what was answered to a GET. Bodies longer than mostGoldenBody are kept as their digest.
type goldenAnswer struct {
	Status      int    `json:"status"`
	ContentType string `json:"contentType,omitempty"`
	ETag        string `json:"etag,omitempty"`
	Body        string `json:"body"`
}

const mostGoldenBody = 64 << 10

// golden is the content of answers.json. Answers are by service and path, Commands by the command line.
type golden struct {
	Version  string                             `json:"version"`
	Token    string                             `json:"token"` // of a viewer in the folder
	Flags    []string                           `json:"flags"`
	Answers  map[string]map[string]goldenAnswer `json:"answers"`
	Commands map[string]string                  `json:"commands"`
}

// notGolden are GETs whose answers do not come from the folder.
var notGolden = map[string]string{
	"/ping":         "has the time",
	"/version":      "has the version of the program",
	"/config":       "has the settings with ports and folders of the run; TestConfig holds them",
	"/metrics":      "has memory, processors and free space of the machine",
	"/health":       "has warnings about the machine",
	"/openapi.yaml": "is a file of the program; it is compared with the routes elsewhere",
	"/docs":         "is a page of the program",
	"/docs/{file}":  "is a file of the program",
	"/endpoint/all": "has what this run has sent; nothing of it is stored",
}

// changedSince are beginnings of paths whose answers have changed since the folder was written.
var changedSince = map[string]string{
	"/notification/subscription/name/": "lists what has a category or a label of the subscription, as EdgeX 2.3 does; it listed what had matched",
}

// goldenCommands are commands whose output comes from the folder alone.
var goldenCommands = []string{"log", "archive", "user list", "token list"}

func goldenServices(p *ledgetest.Node) map[string]string {
	return map[string]string{"metadata": p.Metadata, "data": p.CoreData, "devicerest": p.DeviceREST, "notifications": p.Notifications}
}

func goldenGet(p *ledgetest.Node, service, path string) goldenAnswer {
	p.TB.Helper()
	a := p.Call(http.MethodGet, goldenServices(p)[service]+"/api/v2"+path, "", "")
	body := a.Body
	if len(body) > mostGoldenBody {
		body = "sha256:" + digestOf(body)
	}
	return goldenAnswer{a.Status, a.Header.Get("Content-Type"), a.Header.Get("ETag"), body}
}

// TestGoldenFolder opens a copy of the golden folder: it is whole, and every GET and every command answers as the version that wrote it.
// With WRITE_GOLDEN=1 it writes a new one where there is none.
func TestGoldenFolder(t *testing.T) {
	if os.Getenv("WRITE_GOLDEN") != "" {
		writeGolden(t)
	}
	text, err := os.ReadFile(filepath.Join(goldenDir, "answers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want golden
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpackGolden(t, dir)
	want.holdCommands(t, dir) // once: the list of tokens says when one was used
	for range 2 {             // before and after a start, which cuts off what is torn
		out, errs, code := ledgetest.Run(t, "verify", "--data-dir", dir)
		if code != exit.OK || strings.Count(out, ": whole") < 3 || !strings.Contains(out, "state.db: equals the fold") {
			t.Errorf("verify: %d\n%s%s", code, out, errs)
		}
		want.holdAnswers(t, dir)
	}
}

func (g *golden) holdCommands(t *testing.T, dir string) {
	t.Helper()
	for line, want := range g.Commands {
		out, errs, code := ledgetest.Run(t, append(strings.Fields(line), "--data-dir", dir)...)
		if out = strings.ReplaceAll(out, dir, "DIR"); out != want || code != exit.OK {
			t.Errorf("ledge %s: %d %s\n%s", line, code, errs, difference(out, want))
		}
	}
}

func (g *golden) holdAnswers(t *testing.T, dir string) {
	t.Helper()
	p := ledgetest.Start(t, dir, g.Flags...)
	for service, answers := range g.Answers {
		for path, want := range answers {
			if changedSince[path[:strings.LastIndex(path, "/")+1]] != "" {
				continue
			}
			if got := goldenGet(p, service, path); got != want {
				t.Errorf("%s %s: %d %s, want %d %s\n%s", service, path, got.Status, got.ETag, want.Status, want.ETag, difference(got.Body, want.Body))
			}
		}
	}
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/device/all", "", "", "Authorization", "Bearer "+g.Token); a.Status != http.StatusOK {
		t.Errorf("the token: %d %s", a.Status, a.Body)
	}
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d\n%s", code, p.Log)
	}
	p = ledgetest.Start(t, dir, append([]string{"--secure"}, g.Flags...)...)
	if a, err := ledgetest.OverTLS(t, ledgetest.CA(p), ledgetest.Client13)(p.Metadata+"/api/v2/device/all", "Authorization", "Bearer "+g.Token); err != nil || a.Status != http.StatusOK {
		t.Errorf("the token in secure mode: %d %s %v", a.Status, a.Body, err)
	}
	p.Stop()
}

// difference is where two texts differ first.
func difference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-80)
	return fmt.Sprintf("got  …%.300s\nwant …%.300s", got[min(from, len(got)):], want[min(from, len(want)):])
}

// unpackGolden makes a copy of the folder.
func unpackGolden(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join(goldenDir, "folder.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// writeGolden writes the folder and the answers.
func writeGolden(t *testing.T) {
	t.Helper()
	packed := filepath.Join(goldenDir, "folder.tar.gz")
	if _, err := os.Stat(packed); err == nil {
		t.Fatal(packed + " is there, and is never written again")
	}
	g := golden{Answers: map[string]map[string]goldenAnswer{}, Commands: map[string]string{}}
	dir := t.TempDir()
	p := ledgetest.Start(t, dir, g.Flags...)
	g.Token = goldenChanges(p)
	goldenData(p)
	ledgetest.AwaitNotified(t, p)
	p.Stop()
	ledgetest.SplitLog(t, dir)
	p = ledgetest.Start(t, dir, append([]string{"--events-max-bytes", ledgetest.ArchiveAll}, g.Flags...)...)
	p.WaitLog(`"msg":"a stretch of the log of changes is archived"`)
	ledgetest.DescribeDevice(p, "cam-3", "after the archive")
	ledgetest.AwaitNotified(t, p)
	p.Stop()
	storetest.ForgetStop(t, filepath.Join(dir, "nats"))
	for _, stream := range ledgetest.StreamsByAge { // an unfinished write, as a power cut leaves one
		blocks, _ := filepath.Glob(filepath.Join(ledgetest.StreamFolder(dir, stream), "msgs", "*.blk"))
		slices.SortFunc(blocks, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
		ledgetest.Alter(t, blocks[len(blocks)-1], func(b []byte) []byte { return append(b, b[:50]...) })
	}
	packGolden(t, dir, packed)
	out, _, _ := ledgetest.Run(t, "version")
	g.Version, _, _ = strings.Cut(out, "\n")
	for _, line := range goldenCommands {
		out, errs, code := ledgetest.Run(t, append(strings.Fields(line), "--data-dir", dir)...)
		if code != exit.OK {
			t.Fatal(line, errs)
		}
		g.Commands[line] = strings.ReplaceAll(out, dir, "DIR")
	}
	p = ledgetest.Start(t, dir, g.Flags...)
	for service := range goldenServices(p) {
		g.Answers[service] = map[string]goldenAnswer{}
		for _, path := range goldenPaths(p, service) {
			g.Answers[service][path] = goldenGet(p, service, path)
		}
	}
	p.Stop()
	text, err := json.MarshalIndent(g, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	ledgetest.MustDo(t, os.WriteFile(filepath.Join(goldenDir, "answers.json"), append(text, '\n'), 0o600))
}

// goldenChanges makes users, tokens and changes of each kind of entity. It returns a token.
func goldenChanges(p *ledgetest.Node) string {
	p.TB.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "taken") }))
	p.TB.Cleanup(receiver.Close)
	port := ledgetest.URLPort(p.TB.(*testing.T), receiver.URL)
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"watch","receiver":"r","description":"all changes","adminState":"UNLOCKED",`+
		`"categories":["DEVICE_CHANGED"],"labels":["metadata"],"channels":[{"type":"REST","host":"127.0.0.1","port":%d,"path":"/in","httpMethod":"POST"}]}},`+
		`{"apiVersion":"v2","subscription":{"name":"locked","receiver":"other","adminState":"LOCKED","categories":["security"],"channels":[{"type":"REST","host":"127.0.0.1","port":1,"path":"/nowhere","httpMethod":"PUT"}]}}]`, port), 201, 201)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/provisionwatcher", `[{"apiVersion":"v2","provisionWatcher":{"name":"watcher","labels":["w"],"identifiers":{"address":"10.0.*"},"blockingIdentifiers":{"port":["1"]},"profileName":"sample-image","serviceName":"device-rest","adminState":"UNLOCKED","autoEvents":[]}}]`, 201)
	p.AddDevice("cam-1")
	p.AddDevice("cam-2")
	for i := range 26 {
		ledgetest.DescribeDevice(p, "cam-1", fmt.Sprint("description ", i))
	}
	p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/cam-2", "", "")
	p.AddDevice("cam-3")
	p.PostJSON(http.MethodPost, p.Notifications+"/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"security","labels":["door"],"content":"opened","sender":"gate","severity":"CRITICAL","status":"NEW"}}]`, 201)
	token := ""
	for _, args := range [][]string{
		{"user", "add", "anna", "--role", "operator", "--password-file", ledgetest.MustWriteFile(p.TB, "password", "correct horse battery\n")},
		{"user", "add", "gone", "--password-file", ledgetest.MustWriteFile(p.TB, "password", "correct horse battery\n")},
		{"user", "remove", "gone"},
		{"token", "create", "poster", "--devices", "cam-*"},
		{"token", "create", "revoked"},
		{"token", "revoke", "revoked"},
		{"token", "create", "reader", "--role", "viewer"},
	} {
		out, errs, code := ledgetest.Run(p.TB, append(args, "--data-dir", p.Dir)...)
		if code != exit.OK {
			p.TB.Fatal(args, errs)
		}
		token = strings.TrimSpace(out)
	}
	return token
}

// goldenData posts values of each kind: small, of some KiB, and beside the log, as values and as events; and a secret.
func goldenData(p *ledgetest.Node) {
	p.TB.Helper()
	for i := range 3 {
		p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", fmt.Sprint(i))
		p.PostImage(strings.Repeat(fmt.Sprint("body ", i), 300))
	}
	p.PostImage(ledgetest.LargeBody)
	p.PostImage(strings.Repeat("another", 60_000))
	const id = "7a1707f0-166f-4c4b-bc9d-1d54c74e0137"
	a := p.Call(http.MethodPost, p.CoreData+"/api/v2/event/sample-numeric/sample-numeric/float", "application/json", `{"apiVersion":"v2","event":{"apiVersion":"v2","id":"`+id+`","deviceName":"sample-numeric",`+
		`"profileName":"sample-numeric","sourceName":"float","origin":1700000000000000000,"tags":{"floor":"2"},"readings":[{"deviceName":"sample-numeric","resourceName":"float","profileName":"sample-numeric",`+
		`"id":"8a1707f0-166f-4c4b-bc9d-1d54c74e0137","origin":1700000000000000000,"valueType":"Float32","value":"1.500000e+00"}]}}`)
	if a.Status != http.StatusCreated {
		p.TB.Fatal(a.Status, a.Body)
	}
	p.Call(http.MethodPost, p.DeviceREST+"/api/v2/secret", "application/json", `{"apiVersion":"v2","path":"mqtt","secretData":[{"key":"username","value":"me"},{"key":"password","value":"correct horse"}]}`)
}

// packGolden packs the regular files of a folder, but for what a running server has and the space that is kept free.
func packGolden(t *testing.T, dir, to string) {
	t.Helper()
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	zipped, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	files := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || !d.Type().IsRegular() || rel == datadir.SpareFile || rel == "ledge.pid" {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = files.WriteHeader(&tar.Header{Name: filepath.ToSlash(rel), Mode: 0o600, Size: int64(len(text))})
		}
		if err == nil {
			_, err = files.Write(text)
		}
		return err
	})
	for _, closes := range []io.Closer{files, zipped, f} {
		if e := closes.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// goldenPaths are the GETs of a service's OpenAPI document with each value that the folder has for their parameters.
func goldenPaths(p *ledgetest.Node, service string) (paths []string) {
	p.TB.Helper()
	document, err := os.Open("../../../handlers/" + service + "/openapi_merged.yaml")
	if err != nil {
		p.TB.Fatal(err)
	}
	defer document.Close()
	path := ""
	for lines := bufio.NewScanner(document); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "  /") {
			path = strings.TrimSuffix(strings.TrimSpace(line), ":")
		} else if strings.HasPrefix(line, "    get:") && notGolden[path] == "" {
			paths = append(paths, filled(p, path)...)
		}
	}
	return paths
}

// filled returns a path with values of its parameters.
func filled(p *ledgetest.Node, path string) []string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	values := map[string][]string{
		"start": {"0"}, "end": {"9000000000000000000"}, "profile": {"sample-image"}, "service": {"device-rest"}, "manufacturer": {"none", "Honeywell"}, "model": {"none", "sample"},
		"resource": {"jpeg", "none"}, "resourceName": {"int", "jpeg", "float"}, "command": {"int"}, "category": {"DEVICE_CHANGED", "security"}, "label": {"metadata", "door"},
		"receiver": {"r", "other"}, "status": {"NEW", "PROCESSED", "SENT", "ACKNOWLEDGED", "FAILED"}, "name": {"none"},
	}
	if kind == "notification" || kind == "transmission" {
		values["end"] = []string{"9000000000000"}
	}
	names := map[string][]string{
		"device": {"cam-1", "cam-2", "cam-3", "sample-numeric"}, "deviceprofile": {"sample-image", "sample-numeric"}, "deviceresource": {"sample-image"}, "deviceservice": {"device-rest"}, "provisionwatcher": {"watcher"},
		"subscription": {"watch", "locked"}, "event": {"sample-numeric", "sample-image"}, "reading": {"sample-numeric", "sample-image"}, "notification": {"watch", "locked"}, "transmission": {"watch"},
	}
	switch {
	case strings.Contains(path, "/profile/name/"), strings.HasPrefix(path, "/deviceprofile"):
		values["name"] = names["deviceprofile"]
	case strings.Contains(path, "/service/name/"):
		values["name"] = names["deviceservice"]
	case strings.HasSuffix(path, "/{command}"):
		values["name"] = names["reading"]
	default:
		values["name"] = append(values["name"], names[kind]...)
	}
	values["id"] = idsOf(p, kind, strings.Contains(path, "/notification/id/"))
	paths := []string{path}
	for _, m := range parameter.FindAllStringSubmatch(path, -1) {
		var more []string
		for _, one := range paths {
			for _, value := range values[m[1]] {
				more = append(more, strings.ReplaceAll(one, m[0], url.PathEscape(value)))
			}
		}
		if len(more) == 0 {
			p.TB.Fatalf("%s: there is no value for %s", path, m[1])
		}
		paths = more
	}
	for _, one := range paths {
		if len(parameter.FindAllString(path, -1)) == 0 && strings.HasSuffix(path, "/all") {
			paths = append(paths, one+"?offset=1&limit=2", one+"?limit=1000")
			if kind != "event" && kind != "reading" && kind != "subscription" && kind != "transmission" {
				paths = append(paths, one+"?labels=w,x")
			}
		}
	}
	return paths
}

// idsOf are some ids of what a service lists.
func idsOf(p *ledgetest.Node, kind string, ofNotification bool) (ids []string) {
	list := map[string]string{
		"event": p.CoreData + "/api/v2/event/all?limit=1000", "reading": p.CoreData + "/api/v2/reading/all?limit=1000",
		"notification": p.Notifications + "/api/v2/notification/start/0/end/9000000000000?limit=1000", "transmission": p.Notifications + "/api/v2/transmission/all?limit=1000",
	}
	if ofNotification {
		kind = "notification"
	}
	if list[kind] == "" {
		return nil
	}
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`"id":"([0-9a-f-]{36})"`).FindAllStringSubmatch(p.Call(http.MethodGet, list[kind], "", "").Body, -1) {
		all[m[1]] = true
	}
	ids = slices.Sorted(maps.Keys(all))
	return append(ids[:min(12, len(ids))], "00000000-0000-0000-0000-000000000000")
}
