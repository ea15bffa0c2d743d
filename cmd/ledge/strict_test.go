package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// thermometer is a device profile with a temperature in these units.
func thermometer(name, units string) string {
	return fmt.Sprintf(`{"name":%q,"deviceResources":[%s],"deviceCommands":[{"name":"read","readWrite":"R","resourceOperations":[{"deviceResource":"t"}]}]}`, name, temperature("t", units))
}

func temperature(name, units string) string {
	return fmt.Sprintf(`{"name":%q,"properties":{"valueType":"Float32","readWrite":"R","units":%q}}`, name, units)
}

// sendProfile posts or puts a profile and wants the one element answered with this status.
func (p *process) sendProfile(method, profile string, want int) answer {
	p.tb.Helper()
	return p.postJSON(method, p.metadata+"/api/v2/deviceprofile", `[{"apiVersion":"v2","profile":`+profile+`}]`, want)
}

func (p *process) addResource(profile, resource string, want int) {
	p.tb.Helper()
	p.postJSON(http.MethodPost, p.metadata+"/api/v2/deviceprofile/resource", fmt.Sprintf(`[{"apiVersion":"v2","profileName":%q,"resource":%s}]`, profile, resource), want)
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
			p := start(t, t.TempDir(), tt.flags...)
			at := p.metadata + "/api/v2/deviceprofile/name/warm"
			p.sendProfile(http.MethodPost, thermometer("warm", "C"), http.StatusCreated)
			p.addResource("warm", temperature("more", "C"), http.StatusCreated)
			for _, change := range []struct {
				what      string
				got, want int
			}{
				{"delete a resource", p.call(http.MethodDelete, at+"/resource/more", "", "").status, tt.changes},
				{"delete a command", p.call(http.MethodDelete, at+"/deviceCommand/read", "", "").status, tt.changes},
				{"replace by a file", p.sendFile(http.MethodPut, "file", thermometer("warm", "F")).status, tt.changes},
				{"delete", p.call(http.MethodDelete, at, "", "").status, tt.deletes},
			} {
				if change.got != change.want {
					t.Errorf("%s: got %d, want %d", change.what, change.got, change.want)
				}
			}
			p.sendProfile(http.MethodPost, thermometer("other", "C"), http.StatusCreated)
			body := `[{"apiVersion":"v2","profile":` + thermometer("other", "K") + `}]`
			want := map[int]int{ok: http.StatusMultiStatus, locked: locked}[tt.changes] // 423 is for the whole request
			if a := p.call(http.MethodPut, p.metadata+"/api/v2/deviceprofile", "application/json", body); a.status != want || want != locked && !strings.Contains(a.body, `"statusCode":200`) {
				t.Errorf("replace: got %d %s, want %d", a.status, a.body, want)
			}
		})
	}
}

// TestUnitsOfMeasure adds and replaces profiles with and without the validation of their units, and folds a log again
// that has units from before it.
func TestUnitsOfMeasure(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	p.sendProfile(http.MethodPost, thermometer("old", "furlong"), http.StatusCreated)
	if a := p.call(http.MethodGet, p.metadata+"/api/v2/uom", "", ""); a.status != http.StatusOK || !strings.Contains(a.body, `"temperature":{"source":"www.weather.com","values":["C","F","K"]}`) {
		t.Errorf("built in: %d %s", a.status, a.body)
	}
	p.stop()

	if err := os.Remove(filepath.Join(dir, "state.db")); err != nil {
		t.Fatal(err)
	}
	p = start(t, dir, "--units-file", mustWriteFile(t, "uom.toml", unitsTOML))
	const want = `{"apiVersion":"v2","statusCode":200,"uom":{"source":"a book","units":{"air flow":{"values":["m³/h"]},"temperature":{"source":"a thermometer","values":["C","F"]}}}}` + "\n"
	if a := p.call(http.MethodGet, p.metadata+"/api/v2/uom", "", ""); a.status != http.StatusOK || a.body != want {
		t.Errorf("got  %d %swant 200 %s", a.status, a.body, want)
	}
	if a := p.call(http.MethodGet, p.metadata+"/api/v2/deviceprofile/name/old", "", ""); a.status != http.StatusOK || !strings.Contains(a.body, `"units":"furlong"`) {
		t.Errorf("from before: %d %s", a.status, a.body)
	}
	p.sendProfile(http.MethodPost, thermometer("warm", "C"), http.StatusCreated)
	p.sendProfile(http.MethodPost, thermometer("hot", "K"), http.StatusBadRequest)
	p.sendProfile(http.MethodPut, thermometer("warm", "F"), http.StatusOK)
	p.sendProfile(http.MethodPut, thermometer("warm", "K"), http.StatusBadRequest)
	p.addResource("warm", temperature("more", "m³/h"), http.StatusCreated)
	p.addResource("warm", temperature("most", "K"), http.StatusBadRequest)
	for _, tt := range []struct {
		method, profile string
		want            int
	}{
		{http.MethodPost, thermometer("file", "K"), http.StatusBadRequest}, {http.MethodPost, thermometer("file", "C"), http.StatusCreated},
		{http.MethodPut, thermometer("file", "K"), http.StatusBadRequest}, {http.MethodPut, thermometer("file", "F"), http.StatusOK},
	} {
		if got := p.sendFile(tt.method, "file", tt.profile).status; got != tt.want {
			t.Errorf("%s uploadfile: %s: got %d, want %d", tt.method, tt.profile, got, tt.want)
		}
	}
}
