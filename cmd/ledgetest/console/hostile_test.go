package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// ranIn returns what a browser would run, or load from elsewhere, because a page does not escape the text hostile.
func ranIn(text string) (found []string) {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return []string{err.Error()}
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		wrong := n.Data == "script" && n.FirstChild != nil
		for _, a := range n.Attr {
			address := strings.ToLower(strings.TrimSpace(a.Val))
			wrong = wrong || strings.HasPrefix(a.Key, "on") || n.Data == "img" && a.Key == "src" && a.Val == "x" ||
				(a.Key == "href" || a.Key == "src" || a.Key == "action") && (strings.HasPrefix(address, "javascript:") || strings.HasPrefix(address, "data:text"))
		}
		if wrong {
			found = append(found, fmt.Sprintf("<%s %v>", n.Data, n.Attr))
		}
	}
	return found
}

// plantHostile has the API record the text hostile in every field of free text.
func plantHostile(p *ledgetest.Node) {
	p.TB.Helper()
	h, key := fmt.Sprintf("%q", hostile), fmt.Sprintf("%q", "k"+hostile)
	post := func(base, path, body string) {
		p.TB.Helper()
		p.PostJSON(http.MethodPost, base+path, body, http.StatusCreated)
	}
	post(p.Metadata, "/api/v2/deviceprofile", `[{"apiVersion":"v2","profile":{"name":"boiler","manufacturer":`+h+`,"model":`+h+`,"description":`+h+`,"labels":[`+h+`],"deviceResources":[
		{"name":"note","description":`+h+`,"tag":`+h+`,"attributes":{`+key+`:`+h+`},"properties":{"valueType":"String","readWrite":"RW","units":`+h+`,"defaultValue":`+h+`}},
		{"name":"level","description":`+h+`,"properties":{"valueType":"Float64","readWrite":"RW","units":`+h+`}},
		{"name":"state","properties":{"valueType":"Object","readWrite":"RW"}},
		{"name":"file","properties":{"valueType":"Binary","readWrite":"R","mediaType":"application/octet-stream"}}]}}]`)
	post(p.Metadata, "/api/v2/deviceservice", `[{"apiVersion":"v2","service":{"name":"device-modbus","baseAddress":"http://127.0.0.1:1","adminState":"UNLOCKED","labels":[`+h+`],"description":`+h+`}}]`)
	post(p.Metadata, "/api/v2/device", `[{"apiVersion":"v2","device":{"name":"boiler-2","description":`+h+`,"adminState":"UNLOCKED","operatingState":"UP","labels":[`+h+`],"location":`+h+`,
		"serviceName":"device-rest","profileName":"boiler","protocolName":"rest","protocols":{`+key+`:{`+key+`:`+h+`}}}}]`)
	post(p.Metadata, "/api/v2/provisionwatcher", `[{"apiVersion":"v2","provisionWatcher":{"name":"finder","labels":[`+h+`],"identifiers":{`+key+`:".*"},"blockingIdentifiers":{`+key+`:[`+h+`]},
		"profileName":"boiler","serviceName":"device-rest","adminState":"UNLOCKED"}}]`)
	post(p.Notifications, "/api/v2/subscription", `[{"apiVersion":"v2","subscription":{"name":"gate","description":`+h+`,"receiver":"porter","adminState":"UNLOCKED","categories":["DEVICE_CHANGED"],
		"channels":[{"type":"REST","host":"127.0.0.1","port":1,"path":"/alarm","httpMethod":"POST"}]}}]`)
	post(p.Notifications, "/api/v2/notification", `[{"apiVersion":"v2","notification":{"category":"DEVICE_CHANGED","content":`+h+`,"sender":"porter","severity":"CRITICAL"}}]`)
	ledgetest.PostTo(p, "boiler-2", "note", "text/plain", hostile)
	ledgetest.PostTo(p, "boiler-2", "level", "text/plain", "1.5")
	ledgetest.PostTo(p, "boiler-2", "state", "application/json", `{`+key+`:`+h+`}`)
	ledgetest.PostTo(p, "boiler-2", "file", "application/octet-stream", hostile)
	p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"boiler-2","description":`+fmt.Sprintf("%q", hostile+"2")+`}}]`, http.StatusOK)
}

// TestConsoleHostileTexts looks for texts that run on every page, with every field of free text, and every query, a hostile one.
func TestConsoleHostileTexts(t *testing.T) {
	t.Parallel()
	if len(ranIn("<p>"+hostile)) < 2 || len(ranIn(`<a href=" JavaScript:alert(1)">`)) == 0 {
		t.Fatal("the check finds nothing in a page that escapes nothing")
	}
	p := ledgetest.Start(t, t.TempDir())
	plantHostile(p)
	p.AddConsoleUser(t, domain.Admin)
	c := ledgetest.NewConsoleClient(p)
	if got := c.Post("/login?next="+url.QueryEscape("javascript:alert(1)"), url.Values{"username": {hostile}, "password": {hostile}, "next": {"javascript:alert(1)"}}); len(ranIn(got.Text)) > 0 {
		t.Errorf("the refused login: %v", ranIn(got.Text))
	}
	c.Login(t, "test-admin", ledgetest.ConsolePassword)
	query := "?"
	for _, name := range []string{
		"q", "name", "label", "labels", "profile", "service", "state", "sort", "device", "resource", "kind", "type", "actor", "from", "to", "at", "seq", "back",
		"category", "severity", "status", "subscription", "after", "before", "offset", "view", "manufacturer", "model", "next", "message", "notice",
	} {
		query += name + "=" + url.QueryEscape(hostile) + "&"
	}
	shown := 0
	for _, page := range consolePages(t, c) {
		for _, path := range []string{page, page + query} {
			got := c.Get(path)
			if found := ranIn(got.Text); len(found) > 0 {
				t.Errorf("%.80s: %v", path, found)
			}
			shown += strings.Count(got.Text, "&lt;script&gt;alert(2)")
		}
	}
	for _, resource := range []string{"note", "level", "state", "file"} {
		if found := ranIn(c.Get("/devices/boiler-2?resource=" + resource).Text); len(found) > 0 {
			t.Errorf("%s: %v", resource, found)
		}
	}
	if shown < 50 {
		t.Errorf("hostile texts are shown %d times only", shown)
	}

	b := logIn(p, t, domain.Admin) // what scripts add to a page
	for path, awaited := range map[string]string{
		"/": "boiler-2 description: ", "/readings": "alert(2)", "/devices/boiler-2?resource=note": "alert(2)", "/devices/boiler-2?resource=level": "boiler-2",
	} {
		b.open(path)
		b.until("document.readyState === 'complete'")
		ask[bool](b, "(window.before = document.body.innerHTML) !== ''")
		ledgetest.PostTo(p, "boiler-2", "note", "text/plain", hostile+path)
		p.PostJSON(http.MethodPatch, p.Metadata+"/api/v2/device", `[{"apiVersion":"v2","device":{"name":"boiler-2","description":`+fmt.Sprintf("%q", hostile+path)+`}}]`, http.StatusOK)
		b.until("document.body.innerHTML !== window.before && document.body.innerText.includes('" + awaited + "')")
		if found := ask[int](b, "document.querySelectorAll('img[src=x], script:not([src])').length"); found > 0 {
			t.Errorf("%s: %d elements are made of a text", path, found)
		}
	}
}
