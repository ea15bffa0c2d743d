package main

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

// TestServedDocuments holds that the documents of the running services are whole, and that there is one for each. They ask for a bearer token
// in secure mode only.
func TestServedDocuments(t *testing.T) {
	const needsLogin = "\nsecurity:\n  - bearerAuth: []\n"
	s := startSecured(t)
	if a := s.send(s.tokens[domain.Viewer], http.MethodGet, s.metadata+"/api/v2/openapi.yaml", "", ""); !strings.Contains(a.body, needsLogin) {
		t.Errorf("in secure mode the document asks for no token: %d %.200s", a.status, a.body)
	}
	p := start(t, t.TempDir())
	for title, service := range map[string]string{"core-metadata": p.metadata, "core-data": p.coreData, "device-rest": p.deviceREST, "support-notifications": p.notifications} {
		a := p.call(http.MethodGet, service+"/api/v2/openapi.yaml", "", "")
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/yaml" || !strings.Contains(a.body, "title: Ledge, "+title+"\n") {
			t.Errorf("%s: got %d, %v, %.200s", title, a.status, a.header, a.body)
		}
		if strings.Contains(a.body, needsLogin) {
			t.Errorf("%s: the document asks for a token in open mode", title)
		}
		if strings.Contains(a.body, "<<:") || strings.Contains(a.body, "(?i)") {
			t.Errorf("%s: the document has merge keys or patterns that are not of ECMAScript", title)
		}
		if err := handlerstest.CheckText([]byte(a.body)); err != nil {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// TestPageInABrowser opens the page of each service in a real browser: the policy must let it load what it needs, and it must show the
// operations and no error of its parser.
func TestPageInABrowser(t *testing.T) {
	browser := findBrowser()
	if browser == "" {
		t.Skip("no browser is installed: Debian's package chromium-headless-shell or chromium")
	}
	p := start(t, t.TempDir())
	for url, want := range map[string][]string{
		p.metadata:      {"Ledge, core-metadata", "Add provision watchers", "/deviceprofile/uploadfile"},
		p.coreData:      {"Ledge, core-data", "/reading/all", "/event/"},
		p.deviceREST:    {"Ledge, device-rest", "Post a value"},
		p.notifications: {"Ledge, support-notifications", "List the notifications with a category or label that a subscription has now", "Send again what matched a subscription"},
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
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
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

func findBrowser() string {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
