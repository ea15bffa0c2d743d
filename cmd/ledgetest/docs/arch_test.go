package docs

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// rooms are the packages of the architecture with the only ones of ours that each may import, and why.
var rooms = []struct {
	name  string
	ours  []string
	why   string
	alone []string // modules that only this room may import, outside tests
}{
	{"domain", nil, "it is pure: what it knows, everybody shares", nil},
	{"store", []string{"domain"}, "the log knows events, not what is made of them", []string{"github.com/nats-io/", "github.com/minio/highwayhash", "filippo.io/age", "golang.org/x/mod/sumdb/"}},
	{"projections", []string{"domain"}, "a fold is fed; it does not fetch", []string{"go.etcd.io/bbolt", "github.com/tidwall/btree"}},
	{"handlers", []string{"domain"}, "they see the state and the log through interfaces", []string{"github.com/gin-gonic/gin", "github.com/swaggest/", "github.com/alexedwards/argon2id", "github.com/go-jose/go-jose"}},
	{"bridge", []string{"domain"}, "it sees the log and the sockets through interfaces", []string{"github.com/go-zeromq/zmq4", "github.com/eclipse/paho.mqtt.golang", "github.com/wneessen/go-mail"}},
	{"cmd", []string{"domain", "store", "projections", "handlers", "bridge"}, "here it is all wired", []string{"github.com/spf13/", "golang.org/x/term"}},
}

// bridgeParts are the packages below bridge, with the only ones of ours that each may import, and why.
var bridgeParts = []struct {
	name  string
	ours  []string
	why   string
	alone []string // modules that only this package may import, outside tests
}{
	{"dns", nil, "it knows names and nothing of who asks", nil},
	{"edgex", []string{"domain"}, "it sees core-data as a handler, and no bus", nil},
	{"guard", nil, "whoever connects or binds can ask it", nil},
	{"mail", []string{"bridge/outward"}, "it knows SMTP and nothing of subscriptions", []string{"github.com/wneessen/go-mail"}},
	{"mqtt", []string{"bridge/outward"}, "it knows MQTT and nothing of subscriptions", []string{"github.com/eclipse/paho.mqtt.golang"}},
	{"outward", nil, "it is what all channels share", nil},
	{"rest", []string{"bridge/outward"}, "it knows HTTP and nothing of subscriptions", nil},
	{"zeromq", []string{"domain/z85"}, "a socket knows nothing of what it carries", []string{"github.com/go-zeromq/zmq4", "golang.org/x/crypto/nacl/"}},
}

// handlerParts are the packages that package handlers is made of, with the only ones of ours, beside domain, that each may import, and why.
var handlerParts = []struct {
	name string
	ours []string
	why  string
}{
	{"access", []string{"handlers/web"}, "it knows identities, and no routes"},
	{"answers", []string{"handlers/connections", "handlers/quota"}, "it knows memory, and no entities"},
	{"bodies", []string{"handlers/connections", "handlers/quota"}, "it reads bodies, and does not answer"},
	{"connections", nil, "it limits connections of any server"},
	{"entities", []string{"handlers/answers"}, "it reads entities, and does not answer"},
	{"etag", nil, "it reads a header"},
	{"eventstream", nil, "it writes texts to any client"},
	{"faults", []string{"handlers/jsonform"}, "it knows messages, and no requests"},
	{"identity", nil, "it knows credentials, and no requests"},
	{"jsonform", nil, "it knows texts, and no requests"},
	{"lookups", nil, "it sees name servers through an interface"},
	{"noticed", []string{"handlers/answers"}, "it sees the state, and no requests"},
	{"quota", nil, "it shares any amount"},
	{"transport", []string{"handlers/access", "handlers/web"}, "it knows connections, and no services"},
	{"web", nil, "it stands before any service"},
	{"yamldoc", nil, "it knows texts, and no requests"},
}

// levels are the packages below cmd/internal, from the lowest level up. A package imports only packages of lower levels.
var levels = [][]string{
	{"exit", "loop", "memory", "services"},
	{"certs", "logging"},
	{"datadir"},
	{"admin", "config", "node"},
	{"identities", "logs", "rest", "retention", "secure"},
	{"audit", "channels", "check"},
	{"backup", "metrics", "registry"},
	{"consolesource"},
	{"cli", "server"},
	{"everyday"},
}

// parts are packages below store, with the only ones of ours that each may import, and why.
var parts = []struct {
	name string
	ours []string
	why  string
}{
	{"bus", []string{"domain", "store", "store/natsblock", "store/natsserver", "store/osfile"}, "it follows the logs, and knows no state"},
	{"natsserver", nil, "it starts servers and knows nothing of what is on them"},
	{"transparency", []string{"domain", "store", "store/osfile"}, "it reads the log, and knows neither the state nor its clients"},
}

const module = "ledge/"

// TestLevels holds that packages below cmd/internal import only packages of lower levels.
func TestLevels(t *testing.T) {
	below := filepath.Join("..", "..", "internal")
	at := map[string]int{}
	for i, names := range levels {
		for _, name := range names {
			at[name] = i
		}
	}
	folders, err := os.ReadDir(below)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if _, known := at[f.Name()]; !known && !slices.Contains([]string{"faults", "limits", "words"}, f.Name()) { // of tests, and commands
			t.Errorf("cmd/internal/%s has no level; see levels", f.Name())
		}
	}
	for name, level := range at {
		for file, imports := range importsBelow(t, filepath.Join(below, name)) {
			if strings.HasSuffix(filepath.Dir(file), "test") { // what only tests need
				continue
			}
			for _, path := range imports {
				other, ours := strings.CutPrefix(path, module+"cmd/internal/")
				if to, known := at[other]; ours && (!known || to >= level) {
					t.Errorf("%s imports %s: a package of level %d imports only lower levels; see levels", file, path, level)
				}
			}
		}
	}
}

// TestChannelsAreSelfContained holds that what goes out by one way knows no other, nor the engine: each can be used, and
// tested, alone.
func TestChannelsAreSelfContained(t *testing.T) {
	below := filepath.Join("..", "..", "..", "bridge")
	for _, c := range bridgeParts {
		for file, imports := range importsBelow(t, filepath.Join(below, c.name)) {
			for _, path := range imports {
				other, ours := strings.CutPrefix(path, module)
				if ours && !slices.Contains(c.ours, other) {
					t.Errorf("%s imports %s: bridge/%s may import only %v of ours, because %s", file, path, c.name, c.ours, c.why)
				}
			}
		}
		own := filepath.Join(below, c.name)
		for file, imports := range importsBelow(t, below) {
			for _, path := range imports {
				for _, library := range c.alone {
					if strings.HasPrefix(path, library) && strings.TrimSuffix(filepath.Dir(file), "test") != own { // mqtttest is for tests of mqtt
						t.Errorf("%s imports %s, which belongs to bridge/%s", file, path, c.name)
					}
				}
			}
		}
	}
}

// TestHandlersHaveNoArrowBack holds that the packages below handlers which package handlers is made of do not import it.
func TestHandlersHaveNoArrowBack(t *testing.T) {
	for _, part := range handlerParts {
		for file, imports := range importsBelow(t, filepath.Join("..", "..", "..", "handlers", part.name)) {
			for _, path := range imports {
				other, ours := strings.CutPrefix(path, module)
				if ours && other != "domain" && !strings.HasPrefix(other, "domain/") && !slices.Contains(part.ours, other) {
					t.Errorf("%s imports %s: handlers/%s may import only domain and %v of ours, because %s", file, path, part.name, part.ours, part.why)
				}
			}
		}
	}
}

// sharedFiles is the one package below store that every other one may import, because it imports nothing of ours.
const sharedFiles = "store/osfile"

// TestFilesAreWrittenOneWay holds that what everybody may import knows nothing of ours, and that nothing but it gives a whole file its name
// or knows what a full disk says.
func TestFilesAreWrittenOneWay(t *testing.T) {
	for file, imports := range importsBelow(t, filepath.Join("..", "..", "..", filepath.FromSlash(sharedFiles))) {
		for _, path := range imports {
			if strings.HasPrefix(path, module) {
				t.Errorf("%s imports %s: %s may import nothing of ours", file, path, sharedFiles)
			}
		}
	}
	renames := []string{ // they move what is there already, or decide themselves in which order a file gets its name and is synced
		"cmd/internal/backup/file.go", "cmd/internal/backup/restore.go", "projections/fold/damage.go", "projections/fold/open.go",
		"store/bus/edgex.go", "store/payloads/files.go",
	}
	for _, dir := range []string{"store", "projections", "handlers", "bridge", filepath.Join("cmd", "ledge"), filepath.Join("cmd", "internal")} {
		for file := range importsBelow(t, filepath.Join("..", "..", "..", dir)) {
			name := filepath.ToSlash(strings.TrimPrefix(file, filepath.Join("..", "..", "..")+string(filepath.Separator)))
			if strings.HasPrefix(name, sharedFiles) || strings.HasPrefix(name, "cmd/internal/faults/") { // that is a disk, for tests
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "os.Rename(") && !slices.Contains(renames, name) || strings.Contains(string(text), "syscall.ENOSPC") {
				t.Errorf("%s: use %s", name, sharedFiles)
			}
		}
	}
}

// TestOnePackageReadsYAML holds that the texts of clients reach the YAML library by one door, which bounds them before. Files of the
// operator are below 1 MiB, and are read without that; the merge of OpenAPI documents is not in the program.
func TestOnePackageReadsYAML(t *testing.T) {
	for _, dir := range []string{"domain", "store", "projections", "handlers", "bridge", filepath.Join("cmd", "ledge"), filepath.Join("cmd", "internal")} {
		for file := range importsBelow(t, filepath.Join("..", "..", "..", dir)) {
			name := filepath.ToSlash(strings.TrimPrefix(file, filepath.Join("..", "..", "..")+string(filepath.Separator)))
			if strings.HasPrefix(name, "handlers/yamldoc/") || strings.HasPrefix(name, "handlers/openapi/merge/") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []string{"yaml.Unmarshal(", "yaml.NewDecoder(", "yamldoc.Unmarshal("} {
				if operators := call == "yamldoc.Unmarshal(" && strings.HasPrefix(name, "cmd/internal/config/"); strings.Contains(string(text), call) && !operators {
					t.Errorf("%s has %s...): read it with yamldoc.Parse or yamldoc.Decode", name, call)
				}
			}
		}
	}
}

// TestOnePackageKnowsTheBlocks holds that the server's files are read and written by one package: nothing else can compute their checksum,
// which is its only use in the program.
func TestOnePackageKnowsTheBlocks(t *testing.T) {
	for file, imports := range importsBelow(t, filepath.Join("..", "..", "..")) {
		for _, path := range imports {
			if strings.HasPrefix(path, "github.com/minio/highwayhash") && filepath.Base(filepath.Dir(file)) != "natsblock" {
				t.Errorf("%s imports %s, which belongs to store/natsblock", file, path)
			}
		}
	}
}

// TestArrows holds that imports point down and that siblings do not know each other.
func TestArrows(t *testing.T) {
	for _, room := range rooms {
		for file, imports := range importsBelow(t, filepath.Join("..", "..", "..", room.name)) {
			for _, path := range imports {
				other, ours := strings.CutPrefix(path, module)
				if other == sharedFiles {
					continue
				}
				other, _, _ = strings.Cut(other, "/")
				if ours && other != room.name && !slices.Contains(room.ours, other) {
					t.Errorf("%s imports %s: %s may import only %v of ours, because %s", file, path, room.name, room.ours, room.why)
				}
			}
		}
	}
	for _, part := range parts {
		files := importsBelow(t, filepath.Join("..", "..", "..", "store", part.name))
		if len(files) == 0 {
			t.Errorf("store/%s has no files", part.name)
		}
		for file, imports := range files {
			for _, path := range imports {
				if other, ours := strings.CutPrefix(path, module); ours && !slices.Contains(part.ours, other) {
					t.Errorf("%s imports %s: store/%s may import only %v of ours, because %s", file, path, part.name, part.ours, part.why)
				}
			}
		}
	}
}

// TestFoldKnowsNoDevice holds that the generic part of the projections imports nothing of ours but how files are written, and that nothing else knows its libraries.
func TestFoldKnowsNoDevice(t *testing.T) {
	const fold = "projections/fold"
	for file, imports := range importsBelow(t, filepath.Join("..", "..", "..", "projections")) {
		inside := strings.Contains(filepath.ToSlash(file), fold+"/")
		for _, path := range imports {
			other, ours := strings.CutPrefix(path, module)
			if inside && ours && other != sharedFiles {
				t.Errorf("%s imports %s: %s may import only %s of ours, because it knows no device", file, path, fold, sharedFiles)
			}
			if library := strings.HasPrefix(path, "go.etcd.io/bbolt") || strings.HasPrefix(path, "github.com/tidwall/btree"); library && !inside {
				t.Errorf("%s imports %s, which belongs to %s", file, path, fold)
			}
		}
	}
}

// codecs are packages of libraries that belong to one room. Each room may import them: they open no connection.
var codecs = []string{"github.com/eclipse/paho.mqtt.golang/packets"}

// TestLibrariesStayInTheirRoom holds that a library is known to one package tree only; the benchmark measures them bare.
func TestLibrariesStayInTheirRoom(t *testing.T) {
	for _, owner := range rooms {
		for _, room := range rooms {
			if room.name == owner.name || room.name == "cmd" {
				continue
			}
			for file, imports := range importsBelow(t, filepath.Join("..", "..", "..", room.name)) {
				for _, path := range imports {
					for _, library := range owner.alone {
						if strings.HasPrefix(path, library) && !slices.Contains(codecs, path) {
							t.Errorf("%s imports %s, which belongs to %s", file, path, owner.name)
						}
					}
				}
			}
		}
	}
}

// TestClocksKeepTheirMonotonicReading holds that no time of now loses the monotonic reading that [time.Now] gives it: a deadline without one
// moves when the clock is set. What is stored or shown is converted where that is done, not where the clock is read.
func TestClocksKeepTheirMonotonicReading(t *testing.T) {
	shown := []string{
		"bridge/mail/compose.go",     // the date of an e-mail
		"handlers/identity/login.go", // the end in the token of a login
	}
	reads := 0
	for _, dir := range []string{"store", "projections", "handlers", "bridge", filepath.Join("cmd", "ledge"), filepath.Join("cmd", "internal")} {
		for file := range importsBelow(t, filepath.Join("..", "..", "..", dir)) {
			name := filepath.ToSlash(strings.TrimPrefix(file, filepath.Join("..", "..", "..")+string(filepath.Separator)))
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok && readsClock(e) {
					reads++
				}
				if why := losesMonotonic(n); why != "" && !slices.Contains(shown, name) {
					t.Errorf("%s: %s: a step of the clock would move it; see the comment of this test", fset.Position(n.Pos()), why)
				}
				call, ok := n.(*ast.CallExpr)
				return !ok || methodOf(call) != "Format" // that is shown
			})
		}
	}
	if reads < 50 {
		t.Errorf("only %d reads of a clock were found", reads)
	}
}

// losesMonotonic says how a call makes a wall time of now, "" if it does not: by a method of [time.Time], or as an atomic number.
func losesMonotonic(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch method := methodOf(call); method {
	case "UTC", "Local", "In", "Round", "Truncate", "AddDate":
		if readsClock(call.Fun.(*ast.SelectorExpr).X) {
			return method + " of the time of now"
		}
	case "Store", "Swap", "CompareAndSwap":
		for _, arg := range call.Args {
			if of, ok := arg.(*ast.CallExpr); ok && strings.HasPrefix(methodOf(of), "Unix") && readsClock(of.Fun.(*ast.SelectorExpr).X) {
				return methodOf(of) + " of the time of now is kept"
			}
		}
	}
	return ""
}

// readsClock reports whether an expression is the time of now, or one so far from it. A variable with the name now has that time.
func readsClock(e ast.Expr) bool {
	if name, ok := e.(*ast.Ident); ok {
		return name.Name == "now"
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	if of, ok := call.Fun.(*ast.Ident); ok {
		return of.Name == "now"
	}
	switch method := methodOf(call); method {
	case "Now", "now":
		return len(call.Args) == 0
	case "Add":
		return readsClock(call.Fun.(*ast.SelectorExpr).X)
	}
	return false
}

// methodOf returns the name of the method, or of the function of a package, that is called; "" for another call.
func methodOf(call *ast.CallExpr) string {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

// TestDomainIsPure holds that the domain imports nothing that reads a clock, makes randomness or touches the outside. Only its
// packages history and eventlog read the logs, through interfaces, and so have a context, and history a lock.
func TestDomainIsPure(t *testing.T) {
	banned := []string{"os", "net", "net/http", "io", "math/rand", "math/rand/v2", "crypto/rand", "context", "sync", "log", "log/slog"}
	for file, imports := range importsBelow(t, filepath.Join("..", "..", "..", "domain")) {
		for _, path := range imports {
			slashed := filepath.ToSlash(file)
			reads := strings.Contains(slashed, "domain/history/") && (path == "context" || path == "sync") ||
				strings.Contains(slashed, "domain/eventlog/") && path == "context"
			if slices.Contains(banned, path) && !reads || strings.Contains(path, ".") && path != "gopkg.in/yaml.v3" {
				t.Errorf("%s imports %s: the domain decides on what it is given", file, path)
			}
		}
	}
}

// TestTestsStayOutside holds that what only tests need is not in the program.
func TestTestsStayOutside(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "ledge/cmd/ledge").Output()
	if err != nil || !strings.Contains(string(out), "ledge/handlers\n") {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for path := range strings.Lines(string(out)) {
		for _, banned := range []string{
			"github.com/getkin/", "ledge/handlers/handlerstest", "ledge/store/storetest", "ledge/cmd/internal/node/nodetest",
			"ledge/cmd/internal/server/servertest", "ledge/bridge/dnstest", "ledge/bridge/mailtest", "ledge/bridge/mqtttest", "ledge/bridge/porttest",
			"ledge/bridge/zeromqtest", "testing\n",
		} {
			if strings.HasPrefix(path, banned) {
				t.Errorf("the program contains %s", path)
			}
		}
	}
}

// TestProgramHasNoTemplatesOfGo holds that the linker leaves the templates of Go out of the program. They call methods by name. If they are
// linked, the linker keeps every exported method of every type, which is 10 MB. The console's templates call functions only. Commands do
// not use Cobra's templates.
func TestProgramHasNoTemplatesOfGo(t *testing.T) {
	program, err := os.ReadFile(ledgetest.Binary)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"text/template.(*state).evalField": false, "/pkg/template/text.(*state).evalField": true} {
		if got := bytes.Contains(program, []byte(name)); got != want {
			t.Errorf("the program contains %s: %t, want %t", name, got, want)
		}
	}
}

// importsBelow returns the imports of each file that is not a test.
func importsBelow(t *testing.T, dir string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == "ledgetest") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			found[path] = append(found[path], name)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("read %s: %d files, %v", dir, len(found), err)
	}
	return found
}
