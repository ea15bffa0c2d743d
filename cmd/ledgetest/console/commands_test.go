package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ledge/bridge/commandtest"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// TestConsoleCommands reads from a device and writes to it on its page, and sees the commands on record.
func TestConsoleCommands(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	service := commandtest.Start(t)
	profile := `[{"apiVersion":"v2","profile":{"name":"pump","deviceResources":[{"name":"Int8","properties":{"valueType":"Int8",` +
		`"readWrite":"RW"}},
		{"name":"Int16","attributes":{"hideValue":true},"properties":{"valueType":"Int16","readWrite":"RW"}}]}}]`
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile", profile, http.StatusCreated)
	owner := fmt.Sprintf(`[{"apiVersion":"v2","service":{"name":"device-pump","baseAddress":%q,"adminState":"UNLOCKED"}}]`, service.URL)
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceservice", owner, http.StatusCreated)
	device := `[{"apiVersion":"v2","device":{"name":"pump-1","adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-pump",
		"profileName":"pump","protocols":{"other":{}}}}]`
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/device", device, http.StatusCreated)

	operator, viewer := p.NewRole(t, domain.Operator), p.NewRole(t, domain.Viewer)
	const path = "/devices/pump-1/commands"
	ledgetest.Want(operator.Get("/devices/pump-1"), t, http.StatusOK, `href="`+path+`"`)
	ledgetest.Want(operator.Get("/devices/pump-1/history"), t, http.StatusOK, `href="`+path)
	ledgetest.Want(operator.Get(path), t, http.StatusOK, "Commands of pump-1", `name="value-Int8"`, `aria-label="Read Int16"`,
		"Nothing was written")
	send := func(do, command string, values ...string) ledgetest.Page {
		form := url.Values{"do": {do}, "command": {command}}
		for i := 0; i+1 < len(values); i += 2 {
			form.Set("value-"+values[i], values[i+1])
		}
		return operator.Post(path, form)
	}
	ledgetest.Want(send("read", "Int8"), t, http.StatusOK, `"value": "11"`)
	ledgetest.Want(send("write", "Int8", "Int8", "12"), t, http.StatusSeeOther)
	ledgetest.Want(operator.Get(path), t, http.StatusOK, "has carried out Int8", `{"Int8":"12"}`, "user:test-operator")
	ledgetest.Want(send("write", "Int8", "Int8", "abc"), t, http.StatusInternalServerError, "failed to convert set parameter abc",
		`value="abc"`)
	ledgetest.Want(send("write", "Int16", "Int16", "-31999"), t, http.StatusSeeOther)
	page := operator.Get(path)
	ledgetest.Want(page, t, http.StatusOK, `{"Int16":"(hidden)"}`)
	if strings.Contains(page.Text, "-31999") {
		t.Errorf("a hidden value is shown:\n%s", page.Text)
	}
	calls := len(service.Calls())
	go func() { // answered when the service ends
		_, _ = ledgetest.TryCall(http.MethodPut, p.URLs[services.Command]+"/api/v2/device/name/pump-1/Slow", "application/json", "{}")
	}()
	ledgetest.Until(t, "the device service to have the command", func() bool { return len(service.Calls()) > calls })
	ledgetest.Want(operator.Get(path), t, http.StatusOK, "<td data-label=\"Command\">Slow</td>", "under way")
	for range 30 {
		send("write", "Int8", "Int8", "1")
	}
	page = operator.Get(path)
	if n := strings.Count(page.Text, "user:test-operator"); n != 25 || strings.Contains(page.Text, "under way") {
		t.Errorf("%d commands on a page, want 25 that are answered", n)
	}
	_, older, _ := strings.Cut(page.Text, path+"?from=")
	older, _, _ = strings.Cut(older, `"`)
	ledgetest.Want(operator.Get(path+"?from="+older), t, http.StatusOK, "Newest", `{"Int8":"12"}`, "under way")

	page = viewer.Get(path)
	ledgetest.Want(page, t, http.StatusOK, "Commands of pump-1", "user:test-operator")
	if strings.Contains(page.Text, "Read Int8") || strings.Contains(page.Text, "&#34;Int8&#34;") {
		t.Errorf("a viewer sees forms or values:\n%s", page.Text)
	}
	ledgetest.Want(viewer.Post(path, url.Values{"do": {"read"}, "command": {"Int8"}}), t, http.StatusForbidden)
	ledgetest.Want(operator.Get("/devices/nosuch/commands"), t, http.StatusNotFound)
}
