package deviceimport

import (
	"fmt"
	"strings"
	"testing"
)

// asJSON is the device of each row.
func asJSON(rows []Row) string {
	var all []string
	for _, r := range rows {
		all = append(all, string(r.Device))
	}
	return strings.Join(all, "\n")
}

// TestRead reads the same devices in each format. Before, 0012 became 10, 1.10 became 1.1, 0x1F became 31 and a date got a time.
func TestRead(t *testing.T) {
	const want = `{"autoEvents":[{"interval":"10s","onChange":true,"sourceName":"t"}],"description":"2024-01-31","labels":["0012","hall"],"location":{"floor":2,"room":"0012"},` +
		`"name":"0012","profileName":"p","protocols":{"modbus-tcp":{"Address":"10.0.0.7","Rate":"1.10","Secure":"true","UnitID":"0x1F"}}}`
	for name, text := range map[string]string{
		"YAML": `
- name: 0012
  description: 2024-01-31
  profileName: p
  labels: [0012, hall]
  location: {floor: 2, room: 0012}
  autoEvents: [{interval: 10s, onChange: True, sourceName: t}]
  protocols: {modbus-tcp: {Address: 10.0.0.7, UnitID: 0x1F, Rate: 1.10, Secure: true}}
`,
		"YAML with an alias and a merge": `
bus: &bus {UnitID: 0x1F, Rate: 1.1, Secure: true}
deviceList:
  - {name: 0012, description: 2024-01-31, profileName: &p p, labels: [0012, hall], location: {floor: 2, room: 0012},
     autoEvents: [{interval: 10s, onChange: true, sourceName: t}], protocols: {modbus-tcp: {<<: *bus, Address: 10.0.0.7, Rate: 1.10}}}
`,
		"JSON": `[{"name":"0012","description":"2024-01-31","profileName":"p","labels":["0012","hall"],"location":{"floor":2,"room":"0012"},
"autoEvents":[{"interval":"10s","onChange":true,"sourceName":"t"}],"protocols":{"modbus-tcp":{"Address":"10.0.0.7","UnitID":"0x1F","Rate":1.10,"Secure":true}}}]`,
		"requests": "\ufeff" + `[{"apiVersion":"v2","device":{"name":"0012","description":"2024-01-31","profileName":"p","labels":["0012","hall"],"location":{"floor":2,"room":"0012"},
"autoEvents":[{"interval":"10s","onChange":true,"sourceName":"t"}],"protocols":{"modbus-tcp":{"Address":"10.0.0.7","UnitID":"0x1F","Rate":1.10,"Secure":true}}}}]`,
	} {
		rows, err := Read([]byte(text), 10)
		if got := asJSON(rows); err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want)
		}
	}
}

// TestReadTOML reads a device list as device services of EdgeX 2.x have it, with the keys in their case.
func TestReadTOML(t *testing.T) {
	rows, err := Read([]byte(`# Devices of the hall
[[DeviceList]]
  Name = "meter-1" # a comment
  ProfileName = "power"
  Description = 'a meter'
  Labels = [ "industrial",
    "modbus" ]
  [DeviceList.Protocols]
    [DeviceList.Protocols.modbus-tcp]
      Address = "10.0.0.7"
      Port = 502
      UnitID = 0x1F
      Since = 2024-01-31
      Rate = 1.10
      Secure = true
  [[DeviceList.AutoEvents]]
    Interval = "10s"
    OnChange = false
    SourceName = "Switch"
  [[DeviceList.AutoEvents]]
    SourceName = "Other"
[[DeviceList]]
Name = "meter-2"
Protocols = { other = { a.b = 1, list = "x" } }
`), 10)
	const want = `{"AutoEvents":[{"Interval":"10s","OnChange":false,"SourceName":"Switch"},{"SourceName":"Other"}],"Description":"a meter","Labels":["industrial","modbus"],"Name":"meter-1",` +
		`"ProfileName":"power","Protocols":{"modbus-tcp":{"Address":"10.0.0.7","Port":"502","Rate":"1.10","Secure":"true","Since":"2024-01-31","UnitID":"0x1F"}}}` + "\n" +
		`{"Name":"meter-2","Protocols":{"other":{"a":{"b":"1"},"list":"x"}}}`
	if got := asJSON(rows); err != nil || got != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

func TestReadCSV(t *testing.T) {
	for name, text := range map[string]string{
		"commas":     "name,profileName,labels,protocols.rest.host,protocols.rest.since,notify\r\n0012,p,\"a, b\",10.0.0.7,2024-01-31,TRUE\r\nm-2,,,,,\r\n",
		"semicolons": "\ufeffname;profileName;labels;protocols.rest.host;protocols.rest.since;notify\n0012;p;a,b;10.0.0.7;2024-01-31;true\n\nm-2;;;;;\n",
		"tabs":       "name\tprofileName\tlabels\tprotocols.rest.host\tprotocols.rest.since\tnotify\n0012\tp\ta;b\t10.0.0.7\t2024-01-31\ttrue\nm-2\t\t\t\t\t\n",
	} {
		rows, err := Read([]byte(text), 10)
		const want = `{"labels":["a","b"],"name":"0012","notify":true,"profileName":"p","protocols":{"rest":{"host":"10.0.0.7","since":"2024-01-31"}}}` + "\n" + `{"name":"m-2"}`
		if got := asJSON(rows); err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want)
		}
	}
}

func TestReadWrong(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	for name, c := range map[string]struct{ text, says string }{
		"nothing":                {" \n", "There is no device"},
		"an empty list":          {"[]", "There is no device"},
		"too many":               {"[{},{},{}]", "There are 3 devices in the text; import at most 2 at a time."},
		"two documents":          {"name: a\n---\nname: b\n", "more than one document: line 3"},
		"broken YAML":            {"- name: [\n", "not JSON, YAML, TOML or CSV: line"},
		"a key twice":            {"- name: a\n  name: b\n", `line 2: the key "name" is there twice`},
		"an object as a key":     {"- {[a]: b}\n", "line 1: a list or an object cannot be a key"},
		"an alias bomb":          {bomb, "too large or too deep"},
		"a long text many times": {"x: &x " + strings.Repeat("y", 1<<20) + "\nz: [" + strings.Repeat("*x,", 1000) + "]", "too large or too deep"},
		"depth":                  {strings.Repeat("[", 100) + strings.Repeat("]", 100), "Device 1 has lists and objects more than 64 deep"},
		"depth of YAML":          {strings.Repeat("[", 8<<20), "exceeded max depth"},
		"depth of JSON":          {strings.Repeat("[", 8<<20) + strings.Repeat("]", 8<<20), "exceeded max depth"},
		"depth of TOML":          {"a = " + strings.Repeat("[", 8<<20), "nested more than"},
		"depth of inline tables": {"a = " + strings.Repeat("{a=", 4<<20), "nested more than"},
		"depth of keys":          {"a" + strings.Repeat(".a", 1<<17) + "=1\n", "Device 1 has lists and objects more than 64 deep"},
		"depth of tables":        {"[a" + strings.Repeat(".a", 1<<17) + "]\nx=1\n", "Device 1 has lists and objects more than 64 deep"},
		"broken TOML":            {"[[DeviceList]]\nName = \"a\nx = 1\n", "not TOML: line 2, column "},
		"a table twice":          {"[a]\n[a]\n", "not TOML: "},
		"broken CSV":             {"name,description\na,\"b\nc,d\n", "not CSV: line "},
		"too many cells":         {"name,description\na,b,c\n", "not CSV: line 2: wrong number of fields"},
		"a column twice":         {"name,Name\na,b\n", `has the column "Name" twice`},
		"a protocol alone":       {"name,protocols.rest\na,b\n", `The column "protocols.rest" of the CSV cannot be read`},
		"auto events in a table": {"name,autoEvents\na,b\n", `The column "autoEvents" cannot be given in CSV`},
	} {
		rows, err := Read([]byte(c.text), 2)
		if err != nil && (c.says == "" || !strings.Contains(err.Error(), c.says)) || err == nil && c.says != "" {
			t.Errorf("%s: got %d rows, %v, want %q", name, len(rows), err, c.says)
		}
	}
}

// FuzzRead holds that no text panics, and that each device can be encoded.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"- {name: a}", `[{"name":"a"}]`, "[[DeviceList]]\nName='a'\n[DeviceList.Protocols.x]\na=1\n", "name,labels\na,b\n", "a: &a {<<: *a}", "[a]\nb.c=[{d=1}]\n[[a.b.e]]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := Read(text, 100)
		if err == nil && len(rows) == 0 {
			t.Errorf("neither devices nor an error")
		}
	})
}
