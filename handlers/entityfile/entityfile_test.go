package entityfile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ledge/domain"
	v2 "ledge/handlers/shapes/v2"
)

// free holds any amount of memory.
func free(int64) error { return nil }

// asJSON returns each entity, or its fault.
func asJSON(list []Entity) string {
	var all []string
	for _, e := range list {
		text := string(e.JSON)
		if e.Err != nil {
			text = fmt.Sprint(e.Name, ": ", e.Err)
		}
		all = append(all, text)
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
		rows, err := Read([]byte(text), Devices, 10, free)
		if got := asJSON(rows); err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want)
		}
	}
}

// TestReadTOML reads a device list as device services of EdgeX 2.x have it. The keys get the case of the API.
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
Protocols = { other.a = 1, more = { list = "x" } }
[[DeviceList]]
Name = "meter-3"
Protocols = { other = { a.b = 1 } }
`), Devices, 10, free)
	const want = `{"autoEvents":[{"interval":"10s","onChange":false,"sourceName":"Switch"},` +
		`{"interval":"","onChange":false,"sourceName":"Other"}],` +
		`"description":"a meter","labels":["industrial","modbus"],"name":"meter-1","profileName":"power",` +
		`"protocols":{"modbus-tcp":{"Address":"10.0.0.7","Port":"502","Rate":"1.10",` +
		`"Secure":"true","Since":"2024-01-31","UnitID":"0x1F"}}}` + "\n" +
		`{"name":"meter-2","protocols":{"more":{"list":"x"},"other":{"a":"1"}}}` + "\n" +
		"meter-3: device.Protocols.other.a: a JSON object is not possible here; give a string"
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
		rows, err := Read([]byte(text), Devices, 10, free)
		const want = `{"labels":["a","b"],"name":"0012","notify":true,"profileName":"p","protocols":{"rest":{"host":"10.0.0.7","since":"2024-01-31"}}}` + "\n" + `{"name":"m-2"}`
		if got := asJSON(rows); err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want)
		}
	}
}

// TestCompleteCSV gives devices of CSV the protocol that they do not name. Before, each was refused. Devices of other formats get none.
func TestCompleteCSV(t *testing.T) {
	const table = "name,serviceName,protocolName,protocols.rest.host\na,device-rest,,\nb,device-rest,http,\nc,modbus,modbus-tcp,\n" +
		"d,modbus,,10.0.0.7\ne,device-rest,,10.0.0.7\nf,modbus,,\ng,,,\n"
	const refused = `protocols: is missing; add a column for the protocol of device service "modbus", such as protocols.modbus-tcp.Address`
	for text, want := range map[string]string{
		table: "a rest map[rest:map[]] <nil>\nb http map[http:map[]] <nil>\nc modbus-tcp map[modbus-tcp:map[]] <nil>\n" +
			"d  map[rest:map[host:10.0.0.7]] <nil>\ne rest map[rest:map[host:10.0.0.7]] <nil>\nf  map[] " + refused + "\n" +
			"g rest map[rest:map[]] <nil>\n",
		"- {name: a, serviceName: device-rest}\n- {name: b, serviceName: modbus}\n": "a rest map[] <nil>\nb  map[] <nil>\n",
	} {
		list, err := Read([]byte(text), Devices, 10, free)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range list {
			service := ""
			if e.Name == "g" {
				service = domain.DeviceREST
			}
			d, err := e.Complete(service, "p")
			got += fmt.Sprintln(e.Name, d.ProtocolName, d.Protocols, err)
		}
		if got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// TestFaults names the fault of one entity, and reads the others.
func TestFaults(t *testing.T) {
	list, err := Read([]byte(`
- {name: a, id: 4b4e0a0e-0000-4000-8000-000000000000, created: 5, description: null, labels: [], Properties: {x: 1}}
- {name: b, labels: hall}
- {labels: [hall]}
- 7
- {name: a}
- {name: c, lables: [hall]}
- {name: d, labels: [null]}
- {name: e, notify: 5, Name: f}
`), Devices, 10, free)
	const want = `{"labels":[],"name":"a"}
b: device.labels: a JSON string is not possible here; give an array
: name: is missing or empty; give a name
: it is something else than devices; write fields such as name: NAME, or a list of them
a: device 1 has the same name; leave one out
c: lables: is an unknown key; did you mean labels?
d: labels[0]: is null; give an entry or leave it out
e: device.notify: a JSON number is not possible here; give true or false`
	if got := asJSON(list); err != nil || got != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	if list[0].Ignored != "ignored, because unknown: Properties" {
		t.Errorf("got %q", list[0].Ignored)
	}
}

// TestReadProfiles reads profiles as EdgeX users write them: numbers stand for texts, and aliases make much of a short text.
func TestReadProfiles(t *testing.T) {
	profiles := Kind{About: "device profile", Key: "profile", List: "profiles", Shape: reflect.TypeFor[v2.Profile]()}
	resources := strings.Repeat("  - *r\n", 500)
	list, err := Read([]byte(`x-r: &r
  {name: 0012, isHidden: True, properties: {valueType: Int16, minimum: 1.10}, attributes: {at: 0x1F, since: 2024-01-31, on: true}}
name: 7
deviceResources:
`+resources), profiles, 10, free)
	const resource = `{"description":"","name":"0012","isHidden":true,"tag":"",` +
		`"properties":{"valueType":"Int16","readWrite":"","units":"","minimum":"1.10",` +
		`"maximum":"","defaultValue":"","mask":"","shift":"","scale":"","offset":"","base":"","assertion":"","mediaType":""},` +
		`"attributes":{"at":31,"on":true,"since":"2024-01-31"}}`
	want := `{"deviceResources":[` + strings.TrimSuffix(strings.Repeat(resource+",", 500), ",") + `],"name":"7"}`
	if got := asJSON(list); err != nil || got != want {
		t.Errorf("%v\n got %.1000s\nwant %.1000s", err, got, want)
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
		"an alias bomb":          {bomb, "line 3: the aliases make more than"},
		"a long text many times": {"x: &x " + strings.Repeat("y", 1<<20) + "\nz: [" + strings.Repeat("*x,", 1000) + "]", "line 2: the aliases make more than"},
		"depth":                  {strings.Repeat("[", 100) + strings.Repeat("]", 100), "The device 1 has lists and objects more than 64 deep"},
		"depth of YAML":          {strings.Repeat("[", 8<<20), "exceeded max depth"},
		"depth of JSON":          {strings.Repeat("[", 8<<20) + strings.Repeat("]", 8<<20), "exceeded max depth"},
		"depth of TOML":          {"a = " + strings.Repeat("[", 8<<20), "nested more than"},
		"depth of inline tables": {"a = " + strings.Repeat("{a=", 4<<20), "nested more than"},
		"depth of keys":          {"a" + strings.Repeat(".a", 1<<17) + "=1\n", "The device 1 has lists and objects more than 64 deep"},
		"depth of tables":        {"[a" + strings.Repeat(".a", 1<<17) + "]\nx=1\n", "The device 1 has lists and objects more than 64 deep"},
		"broken TOML":            {"[[DeviceList]]\nName = \"a\nx = 1\n", "not TOML: line 2, column "},
		"a table twice":          {"[a]\n[a]\n", "not TOML: "},
		"broken CSV":             {"name,description\na,\"b\nc,d\n", "not CSV: line "},
		"too many cells":         {"name,description\na,b,c\n", "not CSV: line 2: wrong number of fields"},
		"a column twice":         {"name,Name\na,b\n", `has the column "Name" twice`},
		"a protocol alone":       {"name,protocols.rest\na,b\n", `The column "protocols.rest" of the CSV cannot be read`},
		"keys of JSON":           {`{"name":"a",` + manyKeys(`"k%d":1,`) + `"z":1}`, "The device 1 has an object with more than 1000 keys"},
		"keys of YAML":           {manyKeys("k%d: 1\n"), "line 1: a mapping has more than 1000 keys"},
		"keys of TOML":           {manyKeys("k%d = 1\n"), "A table of the TOML has more than 1000 keys"},
		"columns":                {"name" + manyKeys(",k%d") + "\n", "The CSV has more than 1000 columns"},
		"a long device":          {"- name: " + strings.Repeat("<", 1<<20) + "\n", "The device 1 is longer than 4194304 bytes"},
		"auto events in a table": {"name,autoEvents\na,b\n", `The column "autoEvents" cannot be given in CSV`},
	} {
		rows, err := Read([]byte(c.text), Devices, 2, free)
		if err != nil && (c.says == "" || !strings.Contains(err.Error(), c.says)) || err == nil && c.says != "" {
			t.Errorf("%s: got %d rows, %v, want %q", name, len(rows), err, c.says)
		}
	}
}

// manyKeys is more keys than an object may have, each written as format says.
func manyKeys(format string) string {
	var b strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestReadHoldsMemory holds that no library reads a text before there is memory for the most that it can take, measured for the worst text
// of each format: 134 bytes a byte in YAML, 121 in JSON, 137 in TOML and 246 in CSV. Before, nothing was held, and 100,000 keys of a TOML
// table took 27 s.
func TestReadHoldsMemory(t *testing.T) {
	const n = 1 << 16
	for name, text := range map[string]string{
		"scalars of YAML": "[" + strings.Repeat("a,", n) + "a]", "mappings of YAML": strings.Repeat("- {}\n", n), "comments of YAML": strings.Repeat("- #\n", n), "depth of YAML": strings.Repeat("[", n),
		"numbers of JSON": "[" + strings.Repeat("0,", n) + "0]", "objects of JSON": "[" + strings.Repeat("{},", n) + "{}]",
		"numbers of TOML": "a=[" + strings.Repeat("0,", n) + "]", "tables of TOML": strings.Repeat("[[a]]\n", n), "depth of TOML": "a=" + strings.Repeat("[", n), "keys of TOML": "a=1\n" + strings.Repeat("b.c=1\n", n),
		"cells of CSV": "name,a\n" + strings.Repeat(",", n), "rows of CSV": "name,a\n" + strings.Repeat("1,1\n", n),
	} {
		held := int64(0)
		_, err := Read([]byte(text), Devices, 10, func(bytes int64) error {
			if held += bytes; held > 2<<20 {
				return domain.Errorf(domain.TooLarge, "there is no memory")
			}
			return nil
		})
		if domain.CodeOf(err) != domain.TooLarge {
			t.Errorf("%s: got %v, want that %d bytes are refused", name, err, held)
		}
	}
}

// TestOrdinaryLists holds that 10,000 ordinary devices fit into the memory that a client may have for a request.
func TestOrdinaryLists(t *testing.T) {
	for name, format := range map[string]string{
		"JSON": `{"name":"m%d","profileName":"p","labels":["a"],"protocols":{"modbus-tcp":{"Address":"10.0.0.7","Port":"502","UnitID":"1"}}},`,
		"YAML": "- name: m%d\n  profileName: p\n  serviceName: x\n  labels: [a, b]\n  protocols:\n    modbus-tcp:\n      Address: 10.0.0.7\n      Port: 502\n",
		"TOML": "[[DeviceList]]\nName = 'm%d'\nProfileName = 'p'\nLabels = []\n[DeviceList.Protocols]\n[DeviceList.Protocols.modbus-tcp]\nAddress = '10.0.0.7'\nPort = '502'\n",
		"CSV":  "m%d,p,a;b,10.0.0.7,502\n",
	} {
		var text strings.Builder
		if name == "CSV" {
			text.WriteString("name,profileName,labels,protocols.modbus-tcp.Address,protocols.modbus-tcp.Port\n")
		}
		for i := range 10_000 {
			fmt.Fprintf(&text, format, i)
		}
		list := text.String()
		if name == "JSON" {
			list = "[" + strings.TrimSuffix(list, ",") + "]"
		}
		held := int64(len(list))
		rows, err := Read([]byte(list), Devices, 10_000, func(bytes int64) error { held += bytes; return nil })
		if most := domain.Share(0, 128<<20); err != nil || len(rows) != 10_000 || held > most {
			t.Errorf("%s: got %d devices, %v; %d MiB are held, want %d at most", name, len(rows), err, held>>20, most>>20)
		}
	}
}

// FuzzRead holds that no text panics, and that each device can be encoded.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"- {name: a}", `[{"name":"a"}]`, "[[DeviceList]]\nName='a'\n[DeviceList.Protocols.x]\na=1\n", "name,labels\na,b\n", "a: &a {<<: *a}", "[a]\nb.c=[{d=1}]\n[[a.b.e]]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := Read(text, Devices, 100, free)
		if err == nil && len(rows) == 0 {
			t.Errorf("neither devices nor an error")
		}
	})
}
