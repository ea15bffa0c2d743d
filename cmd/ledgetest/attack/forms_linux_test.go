package attack

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// mostForForms is the most anonymous memory of a node whose console is attacked with forms, in bytes.
const mostForForms = 128 << 20

// formHeader begins a form of the console.
func formHeader(c *ledgetest.ConsoleClient, path, media, length string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\nContent-Type: %s\r\n%s\r\n\r\n", path, strings.TrimPrefix(c.Base, "http://"), c.Cookie, media, length)
}

// TestAttackForms has a viewer send forms of 256 MiB: urlencoded and as files, and three that stop in the middle. Nothing is written to the
// folder for temporary files. Before, one took 845 MiB of memory, three slow ones held 472 MiB, and files went to that folder.
func TestAttackForms(t *testing.T) {
	temporary := t.TempDir()
	a := startAttackUnder(t, []string{"env", "TMPDIR=" + temporary})
	c := a.NewRole(t, domain.Viewer)
	address := strings.TrimPrefix(a.Console, "http://")
	const length = 256 << 20
	part := strings.Repeat("x", 1<<20)
	file := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"
	var slow []net.Conn
	for range 3 {
		one := a.connect(t, attackerAddress, address, formHeader(c, "/account/password", "application/x-www-form-urlencoded", "Transfer-Encoding: chunked")+"9600000\r\nold=")
		slow = append(slow, one)
	}
	var all sync.WaitGroup
	for _, one := range slow {
		all.Go(func() {
			for range 150 {
				if _, err := io.WriteString(one, part); err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, form := range []struct{ media, length, begin string }{
		{"application/x-www-form-urlencoded", fmt.Sprint("Content-Length: ", length), "old="},
		{"application/x-www-form-urlencoded", "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\nold=", length)},
		{"multipart/form-data; boundary=b", fmt.Sprint("Content-Length: ", length), file},
		{"multipart/form-data; boundary=b", "Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s", length, file)},
	} {
		for _, path := range []string{"/account/password", "/logout"} {
			conn := a.connect(t, attackerAddress, address, formHeader(c, path, form.media, form.length)+form.begin)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range length / len(part) {
					if _, err := io.WriteString(conn, part); err != nil {
						return
					}
				}
			}()
			if status := refusalOf(t, path+" "+form.media, conn); status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s %s, %s: got %d", path, form.media, form.length, status)
			}
			conn.Close()
			<-done
		}
	}
	if files, err := os.ReadDir(temporary); err != nil || len(files) > 0 {
		t.Errorf("there are temporary files: %v, %v", files, err)
	}
	if peak := a.peak(); peak > mostForForms {
		t.Errorf("%d MiB of anonymous memory at the peak, want %d at most", peak>>20, mostForForms>>20)
	}
	a.held(t)
}

// sendUpload sends a form with a file and returns the status and the page, or 0 and the error.
func sendUpload(c *ledgetest.ConsoleClient, t *testing.T, path, text string) (int, string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", "file")
	if err == nil {
		_, err = io.WriteString(part, text)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.Base+path, &b)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.AddCookie(c.Cookie)
	resp, err := c.Client.Do(r)
	if err != nil { // the node may have answered before it had all
		return 0, err.Error()
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer)
}

// TestAttackTexts has an operator send the texts that take the most memory for their length, to each form with a text, then all at once.
// Before, an import of 16 MiB took up to 1,771 MiB of memory and 20 s, and 400,000 keys of a TOML table took more than a minute.
func TestAttackTexts(t *testing.T) {
	a := startAttack(t)
	c := a.NewRole(t, domain.Operator)
	c.Client.Transport = &http.Transport{DialContext: dialerAt(attackerAddress).DialContext}
	fill := func(text string, most int) string { return strings.Repeat(text, most/len(text)) }
	keys := func(format string) string {
		var b strings.Builder
		for i := range 400_000 {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const upload, list = 8<<20 - 100, 16<<20 - 100
	for path, texts := range map[string]map[string]string{
		"/devices/+import": {
			"scalars of YAML": "[" + fill("a,", list), "mappings of YAML": fill("- {}\n", list), "comments of YAML": fill("- #\n", list), "depth of YAML": fill("[", list), "keys of YAML": keys("k%d: 1\n"), "one text": "- name: \"" + fill("<", list-20) + "\"\n",
			"as many scalars as fit": "[" + fill("a,", 300_000) + "]", "as many numbers as fit": "{\"name\":\"a\",\"x\":[" + fill("0,", 1_000_000) + "0]}",
			"numbers of JSON": "[" + fill("0,", list-10) + "0]", "objects of JSON": "[" + fill("{},", list-10) + "{}]", "keys of JSON": "{" + keys(`"k%d":1,`) + `"name":"a"}`,
			"numbers of TOML": "a=[" + fill("0,", list-10) + "]", "keys of TOML": keys("k%d=1\n"), "tables of TOML": fill("[[a]]\n", list),
			"cells of CSV": "name,a\n" + fill(",", list-10), "rows of CSV": "name,a\n" + fill("1,1\n", list-10),
		},
		"/profiles/+upload":       {"scalars": "name: a\nx: [" + fill("a,", upload), "comments": "name: a\nx:\n" + fill("- #\n", upload), "keys": "name: a\n" + keys("k%d: 1\n"), "one text": "name: a\nx: \"" + fill("<", upload) + "\"\ny: [\n"},
		"/profiles/any-name/edit": {"scalars": "name: any-name\nx: [" + fill("a,", upload), "no name": "[" + fill("a,", upload), "fault of a path": "name: any-name\ndescription: \"" + fill("<", upload) + "\"\nlabels: x\n"},
	} {
		for name, text := range texts {
			if status, page := sendUpload(c, t, path, text); name != "as many numbers as fit" && (status < 400 || status >= 500) {
				t.Errorf("%s, %s: got %d %.300s", path, name, status, page)
			}
		}
		var all sync.WaitGroup
		for _, text := range texts {
			all.Go(func() { sendUpload(c, t, path, text) })
		}
		all.Wait()
	}
	a.held(t)
}

// TestAttackProfilePages has a viewer open the page of a profile with 300,000 values four times at once, and of one with 2,000 resources,
// which wait for the memory of their YAML. Before, a page of 900,000 values took 649 MiB of memory, and eight at once took 4.4 GiB.
func TestAttackProfilePages(t *testing.T) {
	a := startAttack(t)
	a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/deviceprofile", "["+ledgetest.ManyResources("ordinary", mostYAML)+"]", http.StatusCreated)
	values := `[{"apiVersion":"v2","profile":{"name":"values","deviceResources":[{"name":"r","attributes":{"x":[` + strings.Repeat("0,", 300_000) + `0]},"properties":{"valueType":"Int16","readWrite":"R"}}]}}]`
	a.PostJSON(http.MethodPost, a.Metadata+"/api/v2/deviceprofile", values, http.StatusCreated)
	viewer := a.NewRole(t, domain.Viewer)
	viewer.Client.Transport = &http.Transport{DialContext: dialerAt(attackerAddress).DialContext}
	for name, says := range map[string]string{"values": "too large to be shown as YAML", "ordinary": "<pre"} {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got := viewer.Get("/profiles/" + name); got.StatusCode != http.StatusOK || !strings.Contains(got.Text, says) {
					t.Errorf("%s: got %s, want %q in it", name, got.Status, says)
				}
			})
		}
		all.Wait()
	}
	ledgetest.Want(a.NewRole(t, domain.Operator).Get("/profiles/values/edit"), t, http.StatusUnprocessableEntity, "cannot be edited here")
	a.held(t)
}

// mostYAML is the most resources of a profile whose YAML a page shows.
const mostYAML = 2000
