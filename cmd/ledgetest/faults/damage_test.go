package faults

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// answers are what a running program answers to queries that together cover what is stored, by path.
type answers map[string]ledgetest.Answer

// asked are the queries, by the service that answers them.
func asked(p *ledgetest.Node) map[string]string {
	asked := map[string]string{}
	for service, paths := range map[string][]string{
		p.Metadata: {"/device/all?limit=1000", "/device/all?labels=x", "/deviceprofile/all", "/deviceservice/all", "/provisionwatcher/all"},
		p.Notifications: {"/subscription/all", "/notification/status/NEW?limit=1000", "/notification/status/PROCESSED?limit=1000",
			"/transmission/all?limit=1000", "/notification/category/DEVICE_CHANGED?limit=1000"},
		p.CoreData: {"/reading/all?limit=1000", "/event/all?limit=1000", "/reading/count"},
	} {
		for _, path := range paths {
			asked[path] = service + "/api/v2" + path
		}
	}
	return asked
}

// askAll asks without a check of the OpenAPI documents, which damage may break.
func askAll(p *ledgetest.Node) answers {
	all := answers{}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: ledgetest.Timeout}
	for path, url := range asked(p) {
		resp, err := client.Get(url)
		var b []byte
		if err == nil {
			b, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err != nil { // also an answer that is broken off: the client sees that something is wrong
			all[path] = ledgetest.Answer{Status: http.StatusInternalServerError, Body: err.Error()}
			continue
		}
		all[path] = ledgetest.Answer{Status: resp.StatusCode, Body: string(b)}
	}
	return all
}

// compare judges answers by those of the undamaged folder.
func (a answers) compare(want answers) outcome {
	o := outcome{}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		got := a[path]
		switch {
		case got.Status == want[path].Status && got.Body == want[path].Body:
		case got.Status >= 500:
			o = outcomef(max(o.verdict, found), "%s: %d %.300s", path, got.Status, got.Body)
		default:
			return outcomef(silent, "%s: %d with %d bytes, want %d with %d bytes", path, got.Status, len(got.Body), want[path].Status, len(want[path].Body))
		}
	}
	return o
}

// judgeDamage starts on a damaged folder. Its damage is repaired, or named by verify or at the start, or what rests on it
// is refused; but nothing else than before is answered.
func judgeDamage(t *testing.T, dir string, want answers, flags ...string) outcome {
	damage, touched, err := verifyCopy(dir)
	if err != nil {
		return outcomef(broken, "%v", err)
	}
	o := judgeDamaged(t, dir, damage, want, flags...)
	o.touched = touched
	return o
}

func judgeDamaged(t *testing.T, dir, damage string, want answers, flags ...string) outcome {
	p, named, o := serveOn(t, dir, flags...)
	switch {
	case o.verdict != recovered:
		return o
	case named != "" && damage == "":
		return outcomef(broken, "ledge verify is content, but ledge serve says: %s", named)
	case named != "":
		return outcomef(found, "%s", named)
	}
	o = askAll(p).compare(want)
	if code := p.Stop(); code == exit.State && o.verdict == recovered {
		return outcomef(found, "%s", lastLine(p.Log.String()))
	} else if code != exit.OK && o.verdict == recovered {
		return outcomef(broken, "ledge serve: exit code %d at the stop: %s", code, lastLine(p.Log.String()))
	}
	if o.verdict == recovered && damage != "" {
		return outcomef(found, "%s", damage)
	}
	return o
}

// wanted are the answers of an undamaged folder.
func wanted(t *testing.T, dir string, flags ...string) answers {
	t.Helper()
	p := ledgetest.Start(t, ledgetest.Clone(t, dir), flags...)
	defer p.Stop()
	all := askAll(p)
	for path, a := range all {
		if a.Status >= 300 && path != "/device/all?labels=x" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	return all
}

// newSmallNode is a folder with a few of everything.
func newSmallNode(t *testing.T) (dir string, flags []string) {
	t.Helper()
	l, dir := ledgetest.NewWorkload(t, *ledgetest.Seed), t.TempDir()
	p := ledgetest.Start(t, dir)
	ledgetest.SubscribeElsewhere(p)
	l.Insist(p, 2)
	for i := range 3 {
		p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-image/jpeg", "image/jpeg", strings.Repeat(fmt.Sprint("body ", i), 50_000))
		p.Call(http.MethodPost, p.DeviceREST+"/api/v2/resource/sample-numeric/int", "text/plain", fmt.Sprint(i))
	}
	p.Call(http.MethodPost, p.DeviceREST+"/api/v2/secret", "application/json",
		`{"apiVersion":"v2","path":"faults","secretData":[{"key":"password","value":"correct horse"}]}`)
	ledgetest.AwaitNotified(t, p)
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	return dir, nil
}

// kindsOfFile are the rows of flips, each with what belongs to it; the last takes the rest.
var kindsOfFile = []struct {
	name   string
	has    func(rel string) bool
	folded bool // verify compares it with the log, so what it is content with needs no start
}{
	{"a log", func(rel string) bool { return strings.HasSuffix(rel, ".blk") }, false},
	{"the state", ledgetest.IsState, true},
	{"a payload", func(rel string) bool { return strings.HasPrefix(rel, "payloads") }, false},
	{"an index or another file", func(rel string) bool { return rel != datadir.SpareFile }, false},
}

// flipServed is of how many flips that verify finds the program is started on one too, in full.
const flipServed = 20

// TestFlippedBytes flips a bit of each byte of a small folder.
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	dir, flags := newSmallNode(t)
	want := wanted(t, dir, flags...)
	taken := map[string]bool{}
	for _, kind := range kindsOfFile {
		f := flipped{files: filesOf(t, dir, func(rel string) bool { return !taken[rel] && kind.has(rel) })}
		for _, file := range f.files {
			taken[file.rel] = true
			f.bytes += file.size
		}
		row := &faultRow{name: "byte flipped in " + kind.name}
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f.dir = ledgetest.Clone(t, dir)
			row.try(t, f.bytes, 8, func(t *testing.T, i int) outcome {
				if faultsAll() && i%flipServed != 0 {
					if damage, ok := f.verify(i); ok && (damage != "" || kind.folded) {
						return outcome{verdict: found, why: damage}.unless(damage == "")
					}
				}
				return damagedCopy(t, dir, f.name(i), func(_ testing.TB, dir string) { f.flip(dir, i) }, want, flags...)
			})
		})
	}
}

// sized is a file of a folder.
type sized struct {
	rel  string
	size int
}

func filesOf(t *testing.T, dir string, has func(rel string) bool) (all []sized) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err == nil && has(rel) {
			all = append(all, sized{rel, int(info.Size())})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// damagedCopy damages a copy of a folder and judges it.
func damagedCopy(t *testing.T, dir, what string, do func(tb testing.TB, dir string), want answers, flags ...string) outcome {
	return scratch(t, func(copied string) outcome {
		ledgetest.CopyTree(t, dir, copied, ledgetest.Everything)
		do(t, copied)
		o := judgeDamage(t, copied, want, flags...)
		o.why = fmt.Sprintf("%s: %s", what, strings.ReplaceAll(o.why, copied, ""))
		return o
	})
}

// structuralDamages is how many there are, each made by its number.
const structuralDamages = 300

// TestStructuralDamage deletes, cuts, swaps, doubles, zeroes and puts back old copies of the files of a large folder.
func TestStructuralDamage(t *testing.T) {
	t.Parallel()
	tryStructural(t, "structural damage", 12, func(from damagedNode, what string, do func(testing.TB, string)) outcome {
		return damagedCopy(t, from.dir, what, do, from.want)
	})
}

// TestSalvageOfDamage runs salvage on the same damages: what it makes is whole, and it says what is not as it was.
func TestSalvageOfDamage(t *testing.T) {
	t.Parallel()
	tryStructural(t, "salvage of structural damage", 8, func(from damagedNode, what string, do func(testing.TB, string)) outcome {
		return scratch(t, func(dir string) outcome {
			copied, to := filepath.Join(dir, "data"), filepath.Join(dir, "new")
			ledgetest.CopyTree(t, from.dir, copied, ledgetest.Everything)
			do(t, copied)
			o := judgeSalvaged(t, copied, to, from.want)
			o.why = fmt.Sprintf("%s: %s", what, strings.ReplaceAll(o.why, dir, ""))
			return o
		})
	})
}

// judgeSalvaged salvages a folder and starts on what comes of it.
func judgeSalvaged(t *testing.T, dir, to string, want answers) outcome {
	before, err := takeSnapshot(dir)
	if err != nil {
		return outcomef(broken, "%v", err)
	}
	out, errs, code := ledgetest.Run(t, "salvage", "--data-dir", dir, to)
	if code != exit.OK && code != exit.Partial {
		return outcomef(broken, "ledge salvage: exit code %d: %s", code, lastLine(errs))
	}
	after, err := takeSnapshot(dir)
	if err != nil {
		return outcomef(broken, "%v", err)
	}
	damage, touched, err := verifyCopy(to)
	if err != nil || damage != "" {
		return outcomef(broken, "ledge verify of what is salvaged: %s, %v", damage, err)
	}
	p, named, o := serveOn(t, to)
	if o.verdict != recovered || named != "" {
		return outcomef(broken, "ledge serve on what is salvaged: %s%s", named, o.why)
	}
	o = askAll(p).compare(want)
	if stopped := p.Stop(); stopped != exit.OK {
		return outcomef(broken, "ledge serve on what is salvaged: exit code %d at the stop: %s", stopped, lastLine(p.Log.String()))
	}
	if o.verdict != recovered && code == exit.Partial {
		o = outcomef(found, "%s", lastLine(out))
	}
	o.touched = cmp.Or(before.changed(after), touched)
	return o
}

// damagedNode is a folder to damage.
type damagedNode struct {
	dir, older string
	want       answers
}

// tryStructural tries structural damages of a clean and of a killed folder.
func tryStructural(t *testing.T, name string, few int, judge func(from damagedNode, what string, do func(testing.TB, string)) outcome) {
	t.Helper()
	n := ledgetest.NewFolders(t)
	folders := []damagedNode{{n.Longer, n.Clean, wanted(t, n.Longer)}, {n.Killed, n.Clean, wanted(t, n.Killed)}}
	row := &faultRow{name: name}
	row.try(t, structuralDamages, few, func(t *testing.T, i int) outcome {
		from := folders[i%len(folders)]
		random := rand.New(rand.NewPCG(*ledgetest.Seed, uint64(i)))
		files := filesOf(t, from.dir, func(rel string) bool { return rel != "ledge.pid" })
		var rels []string
		for _, f := range files {
			rels = append(rels, f.rel)
		}
		a := rels[random.IntN(len(rels))]
		similar := slices.DeleteFunc(slices.Clone(rels), func(rel string) bool { return rel == a || filepath.Ext(rel) != filepath.Ext(a) })
		d := structural[i/len(folders)%len(structural)]
		return judge(from, d.name+" "+a, func(tb testing.TB, dir string) { d.do(tb, wound{dir, from.older, a, similar, random}) })
	})
}
