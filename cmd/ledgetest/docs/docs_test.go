package docs

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
	"ledge/handlers/handlerstest"
)

// TestServedDocuments holds that the documents of the running services are whole, and that there is one for each. They ask for a bearer token
// in secure mode only.
func TestServedDocuments(t *testing.T) {
	const needsLogin = "\nsecurity:\n  - bearerAuth: []\n"
	s := ledgetest.StartSecured(t)
	if a := s.Send(s.Tokens[domain.Viewer], http.MethodGet, s.Metadata+"/api/v2/openapi.yaml", "", ""); !strings.Contains(a.Body, needsLogin) {
		t.Errorf("in secure mode the document asks for no token: %d %.200s", a.Status, a.Body)
	}
	p := ledgetest.Start(t, t.TempDir())
	for title, service := range map[string]string{"core-metadata": p.Metadata, "core-data": p.CoreData, "device-rest": p.DeviceREST, "support-notifications": p.Notifications} {
		a := p.Call(http.MethodGet, service+"/api/v2/openapi.yaml", "", "")
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/yaml" || !strings.Contains(a.Body, "title: Ledge, "+title+"\n") {
			t.Errorf("%s: got %d, %v, %.200s", title, a.Status, a.Header, a.Body)
		}
		if strings.Contains(a.Body, needsLogin) {
			t.Errorf("%s: the document asks for a token in open mode", title)
		}
		if strings.Contains(a.Body, "<<:") || strings.Contains(a.Body, "(?i)") {
			t.Errorf("%s: the document has merge keys or patterns that are not of ECMAScript", title)
		}
		if err := handlerstest.CheckText([]byte(a.Body)); err != nil {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// TestPageInABrowser opens the page of each service in a real browser: the policy must let it load what it needs, and it must show the
// operations and no error of its parser.
func TestPageInABrowser(t *testing.T) {
	browser := ledgetest.FindBrowser()
	if browser == "" {
		t.Skip("no browser is installed: Debian's package chromium-headless-shell or chromium")
	}
	p := ledgetest.Start(t, t.TempDir())
	for url, want := range map[string][]string{
		p.Metadata:      {"Ledge, core-metadata", "Add provision watchers", "/deviceprofile/uploadfile"},
		p.CoreData:      {"Ledge, core-data", "/reading/all", "/event/"},
		p.DeviceREST:    {"Ledge, device-rest", "Post a value"},
		p.Notifications: {"Ledge, support-notifications", "List the notifications with a category or label that a subscription has now", "Send again what matched a subscription"},
	} {
		page, console := render(t, browser, url+"/api/v2/docs")
		if strings.Contains(console, "Content Security Policy") {
			t.Errorf("%s: the policy keeps something away:\n%s", want[0], console)
		}
		for _, text := range append(want, "See this document in a browser", "opblock-summary") {
			if !strings.Contains(page, text) {
				t.Errorf("%s: %q is missing in the page: %.2000s", want[0], text, page)
			}
		}
		if _, fault, found := strings.Cut(page, "Parser error"); found {
			t.Errorf("%s: the page shows a parser error%.200s", want[0], fault)
		}
	}
}

// render returns what a browser makes of a page, and what it logs.
func render(t *testing.T, browser, url string) (page, console string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"),
		"--enable-logging=stderr", "--virtual-time-budget=30000", "--dump-dom", url)
	var log bytes.Buffer
	cmd.Stderr = &log
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, &log)
	}
	return string(text), log.String()
}
