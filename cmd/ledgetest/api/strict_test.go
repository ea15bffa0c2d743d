package api

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// thermometer is a device profile with a temperature in these units.
func thermometer(name, units string) string {
	return fmt.Sprintf(`{"name":%q,"deviceResources":[%s],"deviceCommands":[{"name":"read","readWrite":"R","resourceOperations":[{"deviceResource":"t"}]}]}`, name, temperature("t", units))
}

func temperature(name, units string) string {
	return fmt.Sprintf(`{"name":%q,"properties":{"valueType":"Float32","readWrite":"R","units":%q}}`, name, units)
}

// sendProfile posts or puts a profile and wants the one element answered with this status.
func sendProfile(p *ledgetest.Node, method, profile string, want int) ledgetest.Answer {
	p.TB.Helper()
	return p.PostJSON(method, p.Metadata+"/api/v2/deviceprofile", `[{"apiVersion":"v2","profile":`+profile+`}]`, want)
}

func addResource(p *ledgetest.Node, profile, resource string, want int) {
	p.TB.Helper()
	p.PostJSON(http.MethodPost, p.Metadata+"/api/v2/deviceprofile/resource", fmt.Sprintf(`[{"apiVersion":"v2","profileName":%q,"resource":%s}]`, profile, resource), want)
}

// TestStrictProfiles replaces, shrinks and deletes profiles with each of the strict settings, and without.
func TestStrictProfiles(t *testing.T) {
	const ok, locked = http.StatusOK, http.StatusLocked
	for _, tt := range []struct {
		flags            []string
		changes, deletes int
	}{
		{nil, ok, ok},
		{[]string{"--strict-profiles", "changes"}, locked, ok},
		{[]string{"--strict-profiles", "deletes"}, ok, locked},
		{[]string{"--strict-profiles", "changes,deletes"}, locked, locked},
	} {
		t.Run(strings.Join(tt.flags, " "), func(t *testing.T) {
			p := ledgetest.Start(t, t.TempDir(), tt.flags...)
			at := p.Metadata + "/api/v2/deviceprofile/name/warm"
			sendProfile(p, http.MethodPost, thermometer("warm", "C"), http.StatusCreated)
			addResource(p, "warm", temperature("more", "C"), http.StatusCreated)
			for _, change := range []struct {
				what      string
				got, want int
			}{
				{"delete a resource", p.Call(http.MethodDelete, at+"/resource/more", "", "").Status, tt.changes},
				{"delete a command", p.Call(http.MethodDelete, at+"/deviceCommand/read", "", "").Status, tt.changes},
				{"replace by a file", p.SendFile(http.MethodPut, "file", thermometer("warm", "F")).Status, tt.changes},
				{"delete", p.Call(http.MethodDelete, at, "", "").Status, tt.deletes},
			} {
				if change.got != change.want {
					t.Errorf("%s: got %d, want %d", change.what, change.got, change.want)
				}
			}
			sendProfile(p, http.MethodPost, thermometer("other", "C"), http.StatusCreated)
			body := `[{"apiVersion":"v2","profile":` + thermometer("other", "K") + `}]`
			want := map[int]int{ok: http.StatusMultiStatus, locked: locked}[tt.changes] // 423 is for the whole request
			if a := p.Call(http.MethodPut, p.Metadata+"/api/v2/deviceprofile", "application/json", body); a.Status != want || want != locked && !strings.Contains(a.Body, `"statusCode":200`) {
				t.Errorf("replace: got %d %s, want %d", a.Status, a.Body, want)
			}
		})
	}
}

// TestRemoveUsedResource removes a resource before and after the command that uses it. EdgeX 2.3 answers the first request 400.
func TestRemoveUsedResource(t *testing.T) {
	t.Parallel()
	p := ledgetest.Start(t, t.TempDir())
	sendProfile(p, http.MethodPost, thermometer("warm", "C"), http.StatusCreated)
	at := p.Metadata + "/api/v2/deviceprofile/name/warm"
	resource := at + "/resource/t"
	for _, one := range []struct {
		path   string
		status int
		says   string
	}{
		{resource, http.StatusBadRequest, `by device command \"read\"`},
		{at + "/deviceCommand/read", http.StatusOK, ""},
		{resource, http.StatusOK, ""},
		{resource, http.StatusNotFound, ""},
	} {
		if a := p.Call(http.MethodDelete, one.path, "", ""); a.Status != one.status || !strings.Contains(a.Body, one.says) {
			t.Errorf("%s: got %d %s, want %d %s", one.path, a.Status, a.Body, one.status, one.says)
		}
	}
}

// TestUnitsOfMeasure adds and replaces profiles with and without the validation of their units, and folds a log again
// that has units from before it.
func TestUnitsOfMeasure(t *testing.T) {
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	sendProfile(p, http.MethodPost, thermometer("old", "furlong"), http.StatusCreated)
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/uom", "", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, `"temperature":{"source":"www.weather.com","values":["C","F","K"]}`) {
		t.Errorf("built in: %d %s", a.Status, a.Body)
	}
	p.Stop()

	if err := os.Remove(filepath.Join(dir, "state.db")); err != nil {
		t.Fatal(err)
	}
	p = ledgetest.Start(t, dir, "--units-file", ledgetest.MustWriteFile(t, "uom.toml", ledgetest.UnitsTOML))
	const want = `{"apiVersion":"v2","statusCode":200,"uom":{"source":"a book","units":{"air flow":{"values":["m³/h"]},"temperature":{"source":"a thermometer","values":["C","F"]}}}}` + "\n"
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/uom", "", ""); a.Status != http.StatusOK || a.Body != want {
		t.Errorf("got  %d %swant 200 %s", a.Status, a.Body, want)
	}
	if a := p.Call(http.MethodGet, p.Metadata+"/api/v2/deviceprofile/name/old", "", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, `"units":"furlong"`) {
		t.Errorf("from before: %d %s", a.Status, a.Body)
	}
	sendProfile(p, http.MethodPost, thermometer("warm", "C"), http.StatusCreated)
	sendProfile(p, http.MethodPost, thermometer("hot", "K"), http.StatusBadRequest)
	sendProfile(p, http.MethodPut, thermometer("warm", "F"), http.StatusOK)
	sendProfile(p, http.MethodPut, thermometer("warm", "K"), http.StatusBadRequest)
	addResource(p, "warm", temperature("more", "m³/h"), http.StatusCreated)
	addResource(p, "warm", temperature("most", "K"), http.StatusBadRequest)
	for _, tt := range []struct {
		method, profile string
		want            int
	}{
		{http.MethodPost, thermometer("file", "K"), http.StatusBadRequest}, {http.MethodPost, thermometer("file", "C"), http.StatusCreated},
		{http.MethodPut, thermometer("file", "K"), http.StatusBadRequest}, {http.MethodPut, thermometer("file", "F"), http.StatusOK},
	} {
		if got := p.SendFile(tt.method, "file", tt.profile).Status; got != tt.want {
			t.Errorf("%s uploadfile: %s: got %d, want %d", tt.method, tt.profile, got, tt.want)
		}
	}
}
