package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// serviceConfig returns what a service shows under /api/v2/config.
func serviceConfig(p *ledgetest.Node, url string) map[string]string {
	p.TB.Helper()
	var got struct{ Config map[string]string }
	a := p.Call(http.MethodGet, url+"/api/v2/config", "", "")
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != http.StatusOK {
		p.TB.Fatalf("GET %s/api/v2/config: %d %s", url, a.Status, a.Body)
	}
	return got.Config
}

// withComments turns the comments of a file of settings that are settings into settings.
func withComments(text string) string {
	return regexp.MustCompile(`(?m)^# ([a-z][a-z0-9-]*: ")`).ReplaceAllString(text, "$1")
}

// `ledge config` prints a file that sets only the settings that were set. It reads back, also with any of its comments as a setting.
func TestConfigPrintsWhatIsSet(t *testing.T) {
	out, stderr, code := ledgetest.Run(t, "config", "--readings-max-age", "90d")
	var set map[string]string
	if err := yaml.Unmarshal([]byte(out), &set); err != nil || code != exit.OK {
		t.Fatalf("%v, %s", err, stderr)
	}
	if !maps.Equal(set, map[string]string{"readings-max-age": "90d"}) {
		t.Errorf("it sets %v", set)
	}
	file := ledgetest.MustWriteFile(t, "ledge.yaml", withComments(out))
	changed := "readings-max-age: \"90d\" # from " + file + "\n"
	if out, stderr, code := ledgetest.Run(t, "config", "--changed", "--config", file); code != exit.OK || out != changed {
		t.Errorf("with all settings: exit code %d, %s%s", code, out, stderr)
	}
	var all map[string]string
	if err := yaml.Unmarshal([]byte(withComments(out)), &all); err != nil || len(all) < 40 {
		t.Fatalf("%d settings, %v", len(all), err)
	}
	for name, value := range all {
		file := ledgetest.MustWriteFile(t, "one.yaml", fmt.Sprintf("%s: %q\n", name, value))
		line := fmt.Sprintf("; set by %s\n%s: %q\n", file, name, value)
		if again, stderr, code := ledgetest.Run(t, "config", "--config", file); code != exit.OK || !strings.Contains(again, line) {
			t.Errorf("%s: %q alone: exit code %d, %s", name, value, code, stderr)
		}
	}
	out, _, _ = ledgetest.Run(t, "config", "--secure")
	if !strings.Contains(out, "\n# host: \"0.0.0.0\"\n") {
		t.Errorf("an address of secure mode is not a comment: %s", out)
	}
}

// Settings of earlier versions with their old defaults are named in one line, and end nothing.
func TestOldSettingsAreNamed(t *testing.T) {
	file := ledgetest.MustWriteFile(t, "ledge.yaml", "tap-port: \"4222\"\nzeromq-peers: \"2048\"\n")
	out, stderr, code := ledgetest.Run(t, "config", "check", "--config", file)
	want := "ledge: " + file + ": settings of earlier versions without effect, with their old defaults: tap-port, zeromq-peers; "
	want += "leave them out\n"
	if code != exit.OK || out != "all settings are right\n" || stderr != want {
		t.Errorf("exit code %d, %s%s; want %s", code, out, stderr, want)
	}
	file = ledgetest.MustWriteFile(t, "other.yaml", "zeromq-peers: 9\n")
	_, stderr, code = ledgetest.Run(t, "config", "check", "--config", file)
	if code != exit.Usage || !strings.Contains(stderr, "it was removed") {
		t.Errorf("another value: exit code %d, %s", code, stderr)
	}
}

// Each service shows its settings under the names and with the values that `ledge config` prints, and all services
// together show all of them.
func TestServicesShowTheirSettings(t *testing.T) {
	t.Setenv("LEDGE_RESEND_INTERVAL", "1m")
	p := ledgetest.Start(t, t.TempDir(), "--max-result-count", "77", "--disk-reserve", "2048KiB")
	out, stderr, code := ledgetest.Run(t, append([]string{"config"}, p.Cmd.Args[2:]...)...)
	var want map[string]string
	if err := yaml.Unmarshal([]byte(withComments(out)), &want); err != nil || code != exit.OK {
		t.Fatalf("ledge config: %d %s, %v", code, stderr, err)
	}
	shown := map[string]string{}
	for _, s := range []struct {
		name, url string
		has, not  string
	}{
		{services.Metadata, p.Metadata, "metadata-port strict-profiles units-file allow-destinations deny-destinations", "allow-binds device-rest-port data-port notifications-port persist-data readings-max-age"},
		{services.Data, p.CoreData, "data-port persist-data readings-max-age", "metadata-port strict-profiles notifications-port"},
		{services.DeviceREST, p.DeviceREST, "device-rest-port persist-data readings-max-age", "metadata-port notifications-max-age units-file"},
		{services.Notifications, p.Notifications, "notifications-port notifications-max-age resend-limit smtp-server allow-binds allow-destinations deny-destinations", "metadata-port device-rest-port persist-data"},
	} {
		got := serviceConfig(p, s.url)
		for name, value := range got {
			if w, ok := want[name]; !ok || value != w {
				t.Errorf("%s: %s is %q, want %q", s.name, name, value, w)
			}
		}
		for _, name := range append(strings.Fields(s.has), "data-dir", "log-level", "disk-reserve", "host", "nats-port") {
			if _, ok := got[name]; !ok {
				t.Errorf("%s does not show %s: %v", s.name, name, got)
			}
		}
		for _, name := range strings.Fields(s.not) {
			if _, ok := got[name]; ok {
				t.Errorf("%s shows %s", s.name, name)
			}
		}
		maps.Copy(shown, got)
	}
	for _, one := range services.REST() {
		maps.Copy(shown, serviceConfig(p, p.URLs[one.Name]))
	}
	if !maps.Equal(shown, want) {
		t.Errorf("shown by some service: %v\nwant %v", slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(want)))
	}
	for name, value := range map[string]string{"max-result-count": "77", "disk-reserve": "2MiB", "resend-interval": "1m"} {
		if shown[name] != value {
			t.Errorf("%s: got %q, want %q", name, shown[name], value)
		}
	}
}

// `ledge config check` names every mistake of flags, environment, file and the files that settings name, and does not touch the data folder.
func TestConfigCheck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	units := ledgetest.MustWriteFile(t, "units.toml", "[[")
	key := filepath.Join(t.TempDir(), "ledge-secret-key")
	ledgetest.MustDo(t, os.WriteFile(key, []byte("no key"), 0o600))
	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(key))
	t.Setenv("LEDGE_MAX_RESULT_COUNT", "many")
	file := ledgetest.MustWriteFile(t, "ledge.yaml", "edgex-version: xml\nretain: 1\ntap: [[1]]\nedgex-version: 4\nsmtp: {host: h}\nnotifications-port: 0.0.0.0:59860")
	args := []string{"config", "check", "--config", file, "--data-dir", dir, "--metadata-port", "x", "--disk-reserve", "10GB", "--readings-max-age", "-1m", "--units-file", units}
	out, stderr, code := ledgetest.Run(t, args...)
	for _, want := range []string{
		`--metadata-port: "x": is not a TCP port`, `--disk-reserve: "10GB": is not a size`, `LEDGE_MAX_RESULT_COUNT: setting max-result-count: "many": is not a whole number`,
		"line 4: edgex-version is there twice", "line 3: tap must be a list of single values", `there is no setting "retain"`,
		`there is no setting "smtp-host"; it was removed`, "setting edgex-version: xml: use 2.3 or 4", "setting readings-max-age: -1m: use a time of 0 or more",
		"setting units-file: " + units, "credential ledge-secret-key: ", "setting notifications-port: 0.0.0.0 can be reached from other machines",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the check does not name %q", want)
		}
	}
	if code != exit.Usage || out != "" || strings.Count(stderr, "\n") != 12 {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
	object, problem := jsonOf(t, exit.Usage, args...)
	wantKeys(t, "config check", object, "faults")
	if problem["message"] != strings.TrimPrefix(strings.TrimSuffix(stderr, "\n"), "ledge: ") {
		t.Errorf("the error is %v", problem)
	}
	faults := map[string]bool{}
	for _, one := range object["faults"].([]any) {
		wantKeys(t, "a fault", one, "setting", "value", "source", "text")
		f := one.(map[string]any)
		faults[fmt.Sprint(f["setting"], "|", f["value"], "|", f["source"])] = true
		if text, _ := f["text"].(string); text == "" || !strings.Contains(stderr, text) {
			t.Errorf("%v is not in %s", f, stderr)
		}
	}
	wants := []string{
		"metadata-port|x|--metadata-port", "disk-reserve|10GB|--disk-reserve", "max-result-count|many|LEDGE_MAX_RESULT_COUNT",
		"edgex-version||" + file, "tap||" + file, "retain|1|" + file, "smtp-host|h|" + file, "edgex-version|xml|" + file,
		"readings-max-age|-1m|--readings-max-age", "units-file|" + units + "|--units-file", "||", "notifications-port|0.0.0.0:59860|" + file,
	}
	if got := slices.Sorted(maps.Keys(faults)); !slices.Equal(got, slices.Sorted(slices.Values(wants))) {
		t.Errorf("got %q\nwant %q", got, wants)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("LEDGE_MAX_RESULT_COUNT", "7")
	if object, _ := jsonOf(t, exit.OK, "config", "check", "--data-dir", dir); len(object["faults"].([]any)) != 0 {
		t.Errorf("got %v", object)
	}
	out, stderr, code = ledgetest.Run(t, "config", "check", "--data-dir", dir, "--secure", "--log-level", "debug")
	if code != exit.OK || out != "all settings are right\n" || stderr != "" {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the check has made the data folder")
	}
	_, stderr, code = ledgetest.Run(t, "config", "check", "--secure", "--tls-cert", units, "--tls-key", units, "--tls-client-ca", units, "--host", "no..name")
	if code != exit.Usage || strings.Count(stderr, units) < 2 || !strings.Contains(stderr, "tls-client-ca") || !strings.Contains(stderr, `setting host: the host name "no..name"`) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// `ledge config --changed` prints what differs from the defaults, with its source, as a file of settings.
func TestConfigChanged(t *testing.T) {
	t.Setenv("LEDGE_RESEND_INTERVAL", "1s") // its default
	t.Setenv("LEDGE_READINGS_MAX_AGE", "90d")
	file := ledgetest.MustWriteFile(t, "ledge.yaml", "notifications-port: 1001\nmetadata-port: 59881")
	args := []string{"config", "--changed", "--config", file, "--secure"}
	out, stderr, code := ledgetest.Run(t, args...)
	want := `notifications-port: "1001" # from ` + file + `
host: "0.0.0.0" # from secure
nats-host: "0.0.0.0" # from secure
readings-max-age: "90d" # from LEDGE_READINGS_MAX_AGE
secure: "true" # from --secure
`
	lines := func(text string) []string { return slices.Sorted(strings.Lines(text)) }
	if code != exit.OK || !slices.Equal(lines(out), lines(want)) {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", code, stderr, out, want)
	}
	asJSON, stderr, _ := ledgetest.Run(t, append(args, "--json")...)
	var list struct {
		Settings []struct{ Name, Variable, Value, Default, Source, About string }
	}
	if err := json.Unmarshal([]byte(asJSON), &list); err != nil || len(list.Settings) != strings.Count(want, "\n") {
		t.Fatalf("as JSON: %v %s%s", err, asJSON, stderr)
	}
	for _, one := range list.Settings {
		line := fmt.Sprintf("%s: %q # from %s\n", one.Name, one.Value, one.Source)
		if !strings.Contains(want, line) || one.About == "" || one.Default == one.Value || !strings.HasPrefix(one.Variable, "LEDGE_") {
			t.Errorf("%+v", one)
		}
	}
	again := ledgetest.MustWriteFile(t, "again.yaml", out)
	t.Setenv("LEDGE_READINGS_MAX_AGE", "90d")
	if _, stderr, code := ledgetest.Run(t, "config", "check", "--config", again); code != exit.OK {
		t.Errorf("what it prints is not taken back: %s", stderr)
	}
}
