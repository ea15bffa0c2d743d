package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// profileSender sends profiles from the attacker's address.
type profileSender struct {
	*attack
	t      *testing.T
	client *http.Client
}

// send sends a request again while it is answered 503, and returns the answer.
func (p profileSender) send(method, path, contentType, body string) (status int, answer string) {
	p.t.Helper()
	for deadline := time.Now().Add(10 * ledgetest.Timeout); ; {
		status, answer, err := send(context.Background(), p.client, method, p.Metadata+"/api/v2"+path, contentType, body)
		if err != nil {
			p.t.Errorf("%s %s: %v", method, path, err)
			return 0, ""
		}
		if status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			return status, answer
		}
		select {
		case <-p.Exited:
			p.t.Errorf("ledge ended: %v", p.Err)
			return 0, ""
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// sends is send, and holds that the answer has a status and contains a text.
func (p profileSender) sends(method, path, contentType, body string, want int, contains string) string {
	p.t.Helper()
	status, answer := p.send(method, path, contentType, body)
	if status != want || !strings.Contains(answer, contains) {
		p.t.Errorf("%s %s: got %d %.500s, want %d with %s", method, path, status, answer, want, contains)
	}
	return answer
}

// TestLargeProfiles takes profiles of 10,000 resources, as OPC-UA users have them, in YAML and beside others in JSON, gives them back, and takes
// them back. Before, one with more than 908 was refused as JSON, with all beside it. A profile of 40,000 is refused alone. Eight clients do this at
// once, and some of them send what takes as much memory as it can: the node stays within its memory, and a bystander is refused nothing.
func TestLargeProfiles(t *testing.T) {
	const many = 10_000
	a := startAttack(t)
	p := profileSender{a, t, clientAt(attackerAddress)}
	p.sends("POST", "/deviceprofile/uploadfile", ledgetest.YAMLFormType, ledgetest.ManyResourcesYAML("yaml", many), 201, `"statusCode":201`)
	created := p.sends("POST", "/deviceprofile", "application/json",
		"["+ledgetest.ManyResources("first", 5)+","+ledgetest.ManyResources("json", many)+","+ledgetest.ManyResources("too-large", 4*many)+","+ledgetest.ManyResources("last", 5)+"]", 207, "over the limit of")
	if n := strings.Count(created, `"statusCode":201`); n != 3 || strings.Count(created, `"statusCode":413`) != 1 {
		t.Errorf("got %.1000s, want three that are added and one that is too large", created)
	}
	p.sends("POST", "/deviceprofile/uploadfile", ledgetest.YAMLFormType, ledgetest.ManyResourcesYAML("too-large", 4*many), 413, "split the profile into several")
	for _, name := range []string{"yaml", "json"} {
		var got struct{ Profile json.RawMessage }
		if err := json.Unmarshal([]byte(p.sends("GET", "/deviceprofile/name/"+name, "", "", 200, `"node-9999"`)), &got); err != nil {
			t.Fatal(err)
		}
		again := `[{"apiVersion":"v2","profile":` + string(got.Profile) + `}]`
		p.sends("PUT", "/deviceprofile", "application/json", again, 207, `"statusCode":200`)
		p.sends("PUT", "/deviceprofile", "application/json", strings.ReplaceAll(again, `"units":"`, `"units":"k`), 207, `"statusCode":200`)
	}
	var clients sync.WaitGroup
	for i := range 8 {
		p := profileSender{a, t, clientAt(fmt.Sprintf("127.0.0.%d", 10+i/4))}
		clients.Go(func() {
			name := fmt.Sprint("of-", i)
			switch i % 4 {
			case 0:
				p.sends("POST", "/deviceprofile/uploadfile", ledgetest.YAMLFormType, ledgetest.ManyResourcesYAML(name, many), 201, "")
				p.sends("POST", "/deviceprofile/uploadfile", ledgetest.YAMLFormType, ledgetest.YAMLForm("name: p\ndeviceResources: ["+strings.Repeat("{},", 2<<20)+"{}]"), 413, "")
			case 1:
				p.sends("POST", "/deviceprofile", "application/json", "["+ledgetest.ManyResources(name, many)+"]", 207, `"statusCode":201`)
				p.sends("POST", "/deviceprofile/uploadfile", ledgetest.YAMLFormType, ledgetest.YAMLForm("name: p\nx-a: &a {name: r, attributes: {a: 1, b: 2, c: 3}}\ndeviceResources:\n"+strings.Repeat("- *a\n", 150_000)), 413, "")
			case 2:
				p.sends("POST", "/deviceprofile", "application/json", "["+ledgetest.ManyResources(name, many)+"]", 207, `"statusCode":201`)
				p.sends("PUT", "/deviceprofile", "application/json", "["+ledgetest.ManyResources(name, many-1)+"]", 207, `"statusCode":200`)
			case 3:
				p.sends("POST", "/deviceprofile", "application/json", `[{"apiVersion":"v2","profile":{"name":"p","deviceResources":[`+strings.Repeat("{},", 100_000)+`{}]}}]`, 400, "problems")
				p.sends("POST", "/deviceprofile", "application/json", `[{"apiVersion":"v2","profile":{"name":"p","deviceResources":[`+strings.Repeat("{},", 3<<20)+`{}]}}]`, 207, `"statusCode":413`)
			}
		})
	}
	clients.Wait()
	a.held(t)
}
