package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"ledge/cmd/internal/services"
)

// loadArgs loads the settings of a command line.
func loadArgs(t *testing.T, args ...string) (*Config, map[string]string, error) {
	t.Helper()
	c := Default()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.AddTo(flags)
	file := flags.String("config", "", "")
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	source, err := c.Load(*file)
	return c, source, err
}

func writeSettings(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledge.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSettingsAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"empty address":            {[]string{"--host", ""}, `setting host: "": give an address`},
		"empty address of a port":  {[]string{"--data-port", ":59880"}, `--data-port: ":59880": is not a TCP port; use a number from`},
		"address without a port":   {[]string{"--data-port", "[::1]"}, `--data-port: "[::1]": is not a TCP port`},
		"port too large at a host": {[]string{"--data-port", "127.0.0.1:70000"}, `--data-port: "127.0.0.1:70000": use a TCP port`},
		"empty NATS address":       {[]string{"--nats-host", ""}, `setting nats-host: "": give an address`},
		"size without a number":    {[]string{"--disk-reserve", "lots"}, `--disk-reserve: "lots": is not a size; write it as 512, 64KiB, 16M or 10G`},
		"size in powers of ten":    {[]string{"--disk-reserve", "10GB"}, `--disk-reserve: "10GB": is not a size`},
		"size in small letters":    {[]string{"--disk-reserve", "10g"}, `--disk-reserve: "10g": is not a size`},
		"size with a fraction":     {[]string{"--disk-reserve", "1.5G"}, `--disk-reserve: "1.5G": is not a size`},
		"size without digits":      {[]string{"--disk-reserve", "G"}, `--disk-reserve: "G": is not a size`},
		"negative size":            {[]string{"--disk-reserve", "-1G"}, `--disk-reserve: "-1G": is not a size`},
		"digits after the unit":    {[]string{"--disk-reserve", "10K5"}, `--disk-reserve: "10K5": is not a size`},
		"size beyond 64 bits":      {[]string{"--disk-reserve", "9999999T"}, `--disk-reserve: "9999999T": is not a size`},
		"size in the plural":       {[]string{"--disk-reserve", "10 GiBs"}, `--disk-reserve: "10 GiBs": is not a size`},
		"word for a number":        {[]string{"--max-result-count", "many"}, `--max-result-count: "many": is not a whole number; use digits only, such as 60`},
		"number too large":         {[]string{"--max-result-count", "99999999999999999999"}, `--max-result-count: "99999999999999999999": is out of range`},
		"number for a time":        {[]string{"--resend-interval", "5"}, `--resend-interval: "5": is not a time; write it with its unit`},
		"port too large":           {[]string{"--metadata-port", "70000"}, `--metadata-port: "70000": use a TCP port from 0 to 65535`},
		"limit of nothing":         {[]string{"--max-result-count", "0"}, "setting max-result-count: 0: use a number from 1 to 65536"},
		"no reserve":               {[]string{"--disk-reserve", "0"}, "setting disk-reserve: 0: use a size from 1 byte"},
		"negative age":             {[]string{"--readings-max-age", "-1h"}, "setting readings-max-age: -1h: use a time of 0 or more"},
		"unknown word":             {[]string{"--edgex-version", "3"}, "setting edgex-version: 3: use 2.3 or 4"},
		"open loopback":            {[]string{"--secure", "--loopback", "open"}, "setting loopback: open: use loopback=operator"},
		"no sender":                {[]string{"--smtp-server", "smtp://mail.example.org"}, `setting smtp-server: smtp://mail.example.org: from "" is not an address; add`},
		"unknown encryption":       {[]string{"--smtp-server", "ssl://mail.example.org"}, "setting smtp-server: ssl://mail.example.org: use"},
		"login in a URL":           {[]string{"--smtp-server", "smtp://me:hidden@mail.example.org"}, "smtp-server: smtp://me:xxxxx@mail.example.org: leave out the login"},
		"wrong network":            {[]string{"--deny-destinations", "10.0.0.0/33"}, `--deny-destinations: "10.0.0.0/33": `},
		"file that is not there":   {[]string{"--config", "/no/such/file"}, "configuration file: open /no/such/file: no such file"},
		"setting that was never":   {[]string{"--config", writeSettings(t, "retain: 1")}, `there is no setting "retain"`},
		"setting that was removed": {[]string{"--config", writeSettings(t, "smtp: {host: h}")}, `there is no setting "smtp-host"; it was removed`},
		"setting twice":            {[]string{"--config", writeSettings(t, "log-level: info\nlog-level: warn")}, "line 2: log-level is there twice"},
		"list of lists":            {[]string{"--config", writeSettings(t, "tap: [[1]]")}, "line 1: tap must be a list of single values"},
	} {
		_, _, err := loadArgs(t, tt.args...)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want an error with %q", name, err, tt.says)
		}
		if err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v has the password", name, err)
		}
	}
}

// The flags are above the environment, the environment above the file, and the file above the defaults.
func TestSettingsHaveTheirSource(t *testing.T) {
	t.Setenv("LEDGE_RESEND_INTERVAL", "1w2d")
	t.Setenv("LEDGE_EVENTS_MAX_BYTES", "1T")
	t.Setenv("LEDGE_DISK_RESERVE", "1G")
	file := writeSettings(t, "readings: {max-age: 2w, max-bytes: 512M, retention: 'cam.*.* age=1w bytes=2G'}\nresend-interval: 1h\ndisk-reserve: 2G")
	c, source, err := loadArgs(t, "--config", file, "--notifications-max-age", "7d", "--notifications-max-bytes", "2048K", "--disk-reserve", "65536")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"resend-interval": {"9d", "LEDGE_RESEND_INTERVAL"}, "events-max-bytes": {"1TiB", "LEDGE_EVENTS_MAX_BYTES"},
		"readings-max-age": {"14d", file}, "readings-max-bytes": {"512MiB", file}, "readings-retention": {"cam.*.* age=1w bytes=2G", file},
		"notifications-max-age": {"7d", "--notifications-max-age"}, "notifications-max-bytes": {"2MiB", "--notifications-max-bytes"},
		"disk-reserve": {"64KiB", "--disk-reserve"}, "resend-limit": {"20", "default"},
	} {
		if got := c.Settings().Lookup(name).Value.String(); got != want[0] || source[name] != want[1] {
			t.Errorf("%s is %q from %q, want %q from %q", name, got, source[name], want[0], want[1])
		}
	}
}

// A second load finds what the file says now, below the same flags.
func TestSettingsAreLoadedAgain(t *testing.T) {
	file := writeSettings(t, "log-level: info\nmax-result-count: 7")
	c, _, err := loadArgs(t, "--config", file, "--max-result-count", "8")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("log-level: debug\nmax-result-count: 9"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := c.LoadAgain()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"log-level": "debug", "max-result-count": "8"} {
		if got := again.Settings().Lookup(name).Value.String(); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestFileOfSettingsIsChecked(t *testing.T) {
	for says, text := range map[string]string{
		`there is no setting "metadata-prot"`:         "metadata: {prot: 1}",
		"line 2: tap must be a list of single values": "secure: true\ntap: [[1]]",
		"line 2: metadata-port is there twice":        "metadata-port: 1\nmetadata: {port: 2}",
		"line 3: loopback is there twice":             "loopback: open\nmetadata-port: 1\nloopback: secure",
		"line 3: a second document begins":            "secure: true\n---\nmetadata-port: 1",
		"yaml":                                        "a: b: c",
		`setting metadata-port: "many": is not a TCP port; use a number from 0 to 65535`: "metadata-port: many",
		`setting samples: "perhaps": is neither true nor false; use one of them`:         "samples: perhaps",
		"ledge.yaml: is larger than 1 MiB":                                               "# " + strings.Repeat("long ", 1<<18),
		"setting disk-reserve: 0: use a size from 1 byte to 1048576GiB: without a reserve, a write would break off on a full disk\n" +
			"setting edgex-version: never: use 2.3 or 4\nsetting nats-port: -2: use a TCP port from 0 to 65535, or -1\n" +
			"setting smtp-server: ssl: use a URL such as smtp://mail.example.org:587?from=ledge@example.org": "edgex-version: never\n" +
			"smtp: {server: ssl}\ndisk-reserve: 0\nnats-port: -2",
		"no setting \"a\"; `ledge config` lists them\nledge.yaml: there is no setting \"b\"": "e: 1\nd: 1\nc: 1\nb: 1\na: 1",
		`ledge.yaml: there is no setting "limit-batch"; it was removed: its value is fixed`:  "limit: {batch: 5}",
		`ledge.yaml: there is no setting "smtp-host"; it was removed: use smtp-server`:       "smtp: {host: h}",
		`setting strict-profiles: "all": "all" is unknown; use changes, deletes or both`:     "strict-profiles: all",
	} {
		file := writeSettings(t, text)
		_, _, err := loadArgs(t, "--config", file)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), file, "ledge.yaml"), says) {
			t.Errorf("%.60q: got %v, want %q", text, err, says)
		}
	}
}

func TestSecureSettings(t *testing.T) {
	for args, says := range map[string]string{
		"--tls-cert x --tls-key y":             "setting tls-cert: x: there is no TLS without secure",
		"--secure --tls-cert x":                "setting tls-cert: x: tls-key is not set",
		"--secure --tls-key x":                 "setting tls-key: x: tls-cert is not set",
		"--secure --allow-insecure":            "setting allow-insecure: true: secure is set too",
		"--loopback viewer":                    "setting loopback: viewer: without secure",
		"--secure --loopback half":             "setting loopback: half: use secure, viewer",
		"--secure --loopback root":             "setting loopback: root: use secure, viewer",
		"--tls-client-ca x":                    "setting tls-client-ca: x: there is no TLS",
		"--secure --host=":                     "setting host",
		"--secure --data-port 127.0.0.1:59880": "",
		"--secure --loopback operator":         "",
		"--secure --loopback=viewer":           "",
	} {
		c, source, err := loadArgs(t, strings.Fields(args)...)
		if says != "" {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: got %v, want %q", args, err, says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if at := c.ListenAt(services.Named(services.Metadata)); at.Host != "0.0.0.0" || at.Setting != "host" || source["host"] != "secure" {
			t.Errorf("%s: metadata is at %v from %s", args, at, source["host"])
		}
		if at := c.ListenAt(services.Named(services.Data)); (at.Host == "127.0.0.1") != strings.Contains(args, "data-port") || at.Port != 59880 {
			t.Errorf("%s: data is at %v", args, at)
		}
	}
}

// A file that an earlier version has printed is taken: removed settings with their old defaults are named in one line.
func TestOldDefaultsAreTaken(t *testing.T) {
	var file strings.Builder
	for name, value := range oldDefaults {
		fmt.Fprintf(&file, "%s: %q\n", name, value)
	}
	c, _, err := loadArgs(t, "--config", writeSettings(t, file.String()))
	if err != nil {
		t.Fatal(err)
	}
	got := DescribeUnused(c)
	for name := range oldDefaults {
		if !strings.Contains(got, name) || strings.Contains(got, "\n") {
			t.Errorf("%s is not in the warning %q", name, got)
		}
	}
	for name := range replacedSettings {
		if _, ok := oldDefaults[name]; !ok && name != "tls-min-version" { // whose old default is not in force
			t.Errorf("%s has no old default", name)
		}
		_, _, err := loadArgs(t, "--config", writeSettings(t, name+": other"))
		if err == nil || !strings.Contains(err.Error(), "it was removed: ") {
			t.Errorf("%s with another value: %v", name, err)
		}
	}
	if c, _, _ := loadArgs(t); DescribeUnused(c) != "" {
		t.Errorf("without a file the warning is %q", DescribeUnused(c))
	}
}

// TestPortsWithAddresses holds that a port listens at host, unless it has an address of its own, in a file and in a flag.
func TestPortsWithAddresses(t *testing.T) {
	const file = "host: 127.0.0.2\nmetadata-port: 1001\ndata: {port: 0.0.0.0:01002}\n" +
		"notifications-port: \"[::1]:1003\"\ndevice-rest-port: Edge.example:0"
	c, _, err := loadArgs(t, "--config", writeSettings(t, file), "--console-port", "127.0.0.1:9090")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Address{
		services.Metadata:      {"host", "127.0.0.2", "127.0.0.2", 1001},
		services.Data:          {"data-port", "0.0.0.0:1002", "0.0.0.0", 1002},
		services.Command:       {"host", "127.0.0.2", "127.0.0.2", 59882},
		services.DeviceREST:    {"device-rest-port", "Edge.example:0", "Edge.example", 0},
		services.Notifications: {"notifications-port", "[::1]:1003", "::1", 1003},
		services.Console:       {"console-port", "127.0.0.1:9090", "127.0.0.1", 9090},
	} {
		if got := c.ListenAt(services.Named(name)); got != want {
			t.Errorf("%s is at %v, want %v", name, got, want)
		}
	}
	var settings []string
	for _, one := range c.BindSettings() {
		settings = append(settings, one.Setting+"="+one.Host)
	}
	want := "host=127.0.0.2 data-port=0.0.0.0 device-rest-port=Edge.example notifications-port=::1 console-port=127.0.0.1 nats-host=127.0.0.1"
	if got := strings.Join(settings, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOldHostsAreRefused holds that a host of an earlier version ends a start if it has kept a service away from other machines.
func TestOldHostsAreRefused(t *testing.T) {
	for text, refused := range map[string]bool{
		"console-host: 127.0.0.1": false, "console-host: 127.0.0.2": true, "console-host: 127.0.0.1\nsecure: true": true,
		"console-host: 127.0.0.1\nsecure: true\nconsole-port: 127.0.0.1:9090": false,
		"console-host: 127.0.0.1\nhost: 0.0.0.0\nallow-insecure: true":        true,
	} {
		_, _, err := loadArgs(t, "--config", writeSettings(t, text))
		if refused != (err != nil && strings.Contains(err.Error(), "it was removed: use host, or console-port with an address")) {
			t.Errorf("%q: %v", text, err)
		}
	}
	t.Setenv("LEDGE_CONSOLE_HOST", "127.0.0.1")
	for args, says := range map[string]string{
		"": "", "--secure": `LEDGE_CONSOLE_HOST: there is no setting "console-host"; it was removed: use host`,
	} {
		if _, _, err := loadArgs(t, strings.Fields(args)...); (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestFreePortsStayAtAReload holds that a reload finds the free ports of --no-delivery, and no port of the file in their place.
func TestFreePortsStayAtAReload(t *testing.T) {
	c, source, err := loadArgs(t, "--config", writeSettings(t, "metadata-port: 59999\ncommand-port: '[::1]:59882'"), "--data-port", "7")
	if err != nil {
		t.Fatal(err)
	}
	TakeFreePorts(c, source)
	again, err := c.LoadAgain()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"metadata-port": "0", "data-port": "7", "command-port": "[::1]:0"} {
		if got := again.Settings().Lookup(name).Value.String(); got != want {
			t.Errorf("%s is %s after a reload, want %s", name, got, want)
		}
	}
	if source["metadata-port"] != "--no-delivery" {
		t.Errorf("the source of metadata-port is %q", source["metadata-port"])
	}
}
