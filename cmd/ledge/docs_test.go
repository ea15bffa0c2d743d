package main

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/handlers/handlerstest"
)

// TestServedDocuments holds that the documents of the running services are whole, and that there is one for each.
func TestServedDocuments(t *testing.T) {
	p := start(t, t.TempDir())
	for title, service := range map[string]string{"core-metadata": p.metadata, "core-data": p.coreData, "device-rest": p.deviceREST, "support-notifications": p.notifications} {
		a := p.call(http.MethodGet, service+"/api/v2/openapi.yaml", "", "")
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/yaml" || !strings.Contains(a.body, "title: Ledge, "+title+"\n") {
			t.Errorf("%s: got %d, %v, %.200s", title, a.status, a.header, a.body)
		}
		if err := handlerstest.CheckText([]byte(a.body)); err != nil {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// TestPageInABrowser opens the page in a real browser: the policy must let it load what it needs, and it must show the
// operations.
func TestPageInABrowser(t *testing.T) {
	browser := findBrowser()
	if browser == "" {
		t.Skip("no browser is installed: Debian's package chromium-headless-shell or chromium")
	}
	p := start(t, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"),
		"--enable-logging=stderr", "--virtual-time-budget=30000", "--dump-dom", p.metadata+"/api/v2/docs")
	var console bytes.Buffer
	cmd.Stderr = &console
	page, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, &console)
	}
	if strings.Contains(console.String(), "Content Security Policy") {
		t.Errorf("the policy keeps something away:\n%s", &console)
	}
	for _, want := range []string{"Ledge, core-metadata", "Add provision watchers", "/deviceprofile/uploadfile", "See this document in a browser"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is missing in the page: %.2000s", want, page)
		}
	}
}

func findBrowser() string {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
