package attack

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ledge/cmd/ledgetest"
)

// growthParts returns n texts that a format makes of the numbers below n, joined.
func growthParts(n int, format, separator string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(format, "~", strconv.Itoa(i))
	}
	return strings.Join(all, separator)
}

func formOf(values ...string) (contentType, body string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for pair := range slices.Chunk(values, 2) {
		part, _ := w.CreateFormFile(pair[0], "file")
		_, _ = io.WriteString(part, pair[1])
	}
	_ = w.Close()
	return w.FormDataContentType(), b.String()
}

// growthInputs are requests whose lists, objects, texts and queries have n parts.
func growthInputs(n int) (all []growthInput) {
	jsonTo := func(port, method, path string, bodies map[string]string) {
		for name, body := range inOrder(bodies) {
			all = append(all, growthInput{name: method + " " + path + " " + name, port: port, method: method, path: "/api/v2" + path, contentType: "application/json", body: body})
		}
	}
	device := func(fields string) string {
		return `[{"apiVersion":"v2","device":{"name":"d","adminState":"UNLOCKED","operatingState":"UP","serviceName":"device-rest","profileName":"hall-sensor","protocolName":"rest",` + fields + `}}]`
	}
	protocols := `"protocols":{"other":{}}`
	jsonTo("metadata", "POST", "/device", map[string]string{
		"labels":         device(protocols + `,"labels":[` + growthParts(n, `"l~"`, ",") + `]`),
		"same labels":    strings.Replace(device(protocols+`,"labels":[`+growthParts(n, `"l"`, ",")+`]`), `"d"`, `"d2"`, 1),
		"protocols":      strings.Replace(device(`"protocols":{`+growthParts(n, `"p~":{}`, ",")+`}`), `"d"`, `"d3"`, 1),
		"properties":     strings.Replace(device(`"protocols":{"p":{`+growthParts(n, `"k~":"v"`, ",")+`}}`), `"d"`, `"d4"`, 1),
		"autoEvents":     strings.Replace(device(protocols+`,"autoEvents":[`+growthParts(n, `{"interval":"1s","sourceName":"s~"}`, ",")+`]`), `"d"`, `"d5"`, 1),
		"unknown":        strings.Replace(device(protocols+`,`+growthParts(n, `"k~":1`, ",")), `"d"`, `"d6"`, 1),
		"misspelled":     strings.Replace(device(protocols+`,`+growthParts(n, `"labeks~":1`, ",")), `"d"`, `"d7"`, 1),
		"twice":          strings.Replace(device(protocols+`,`+growthParts(n, `"name":"x"`, ",")), `"d"`, `"d8"`, 1),
		"nulls":          device(protocols + `,"labels":[` + growthParts(n, `null`, ",") + `]`),
		"wrong types":    device(protocols + `,"labels":[` + growthParts(n, `~`, ",") + `]`),
		"many":           "[" + growthParts(n, strings.Trim(strings.Replace(device(protocols), `"d"`, `"many~"`, 1), "[]"), ",") + "]",
		"many wrong":     "[" + growthParts(n, `{"apiVersion":"v2","device":{"name":"w~","nane":1,"x~":2}}`, ",") + "]",
		"no profile":     "[" + growthParts(n, strings.Replace(strings.Trim(strings.Replace(device(protocols), `"d"`, `"np~"`, 1), "[]"), "hall-sensor", "nope~", 1), ",") + "]",
		"location":       strings.Replace(device(protocols+`,"location":[`+growthParts(n, `{"a~":[1,2]}`, ",")+`]`), `"d"`, `"d9"`, 1),
		"escaped":        strings.Replace(device(protocols+`,"description":"`+growthParts(n, `\u00e4\n\"`, "")+`"`), `"d"`, `"d10"`, 1),
		"spaces":         growthParts(n, " ", "") + "[" + growthParts(n, " ", "") + "]",
		"not JSON":       growthParts(n, "[", ""),
		"unknown nested": strings.Replace(device(protocols+`,"autoEvents":[`+growthParts(n, `{"interval":"1s","sourceName":"s~","x~":1}`, ",")+`]`), `"d"`, `"d11"`, 1),
	})
	jsonTo("metadata", "PATCH", "/device", map[string]string{
		"labels":    `[{"apiVersion":"v2","device":{"name":"camera","labels":[` + growthParts(n, `"l~"`, ",") + `]}}]`,
		"other":     `[{"apiVersion":"v2","device":{"name":"camera","labels":[` + growthParts(n, `"m~"`, ",") + `]}}]`,
		"many":      "[" + growthParts(n, `{"apiVersion":"v2","device":{"name":"plain","description":"d~"}}`, ",") + "]",
		"protocols": `[{"apiVersion":"v2","device":{"name":"d4","protocols":{"p":{` + growthParts(n, `"k~":"w"`, ",") + `}}}}]`,
	})
	profile := func(name, fields string) string {
		return `[{"apiVersion":"v2","profile":{"name":"` + name + `",` + fields + `}}]`
	}
	resource := `{"name":"r~","properties":{"valueType":"String","readWrite":"RW"}}`
	resources := `"deviceResources":[` + growthParts(n, resource, ",") + `]`
	commands := `"deviceCommands":[` + growthParts(n, `{"name":"c~","readWrite":"RW","resourceOperations":[{"deviceResource":"r~"}]}`, ",") + `]`
	oneCommand := `"deviceCommands":[{"name":"c","readWrite":"RW","resourceOperations":[` + growthParts(n, `{"deviceResource":"r~"}`, ",") + `]}]`
	jsonTo("metadata", "POST", "/deviceprofile", map[string]string{
		"a resources":  profile("pa", resources),
		"commands":     profile("pb", resources+","+commands),
		"operations":   profile("pc", resources+","+oneCommand),
		"attributes":   profile("pd", `"deviceResources":[{"name":"r","properties":{"valueType":"String","readWrite":"RW"},"attributes":{`+growthParts(n, `"k~":{"a":[~]}`, ",")+`}}]`),
		"mappings":     profile("pe", `"deviceResources":[`+growthParts(1, resource, ",")+`],"deviceCommands":[{"name":"c","readWrite":"RW","resourceOperations":[{"deviceResource":"r0","mappings":{`+growthParts(n, `"a~":"b~"`, ",")+`}}]}]`),
		"same names":   profile("pf", `"deviceResources":[`+growthParts(n, `{"name":"r","properties":{"valueType":"String","readWrite":"RW"}}`, ",")+`]`),
		"no resources": profile("pg", `"deviceResources":[`+growthParts(1, resource, ",")+`],`+commands),
		"unknown":      profile("ph", `"deviceResources":[`+growthParts(n, `{"name":"r~","propertes":{},"x~":1}`, ",")+`]`),
		"many":         "[" + growthParts(n, `{"apiVersion":"v2","profile":{"name":"many~","deviceResources":[{"name":"r","properties":{"valueType":"String","readWrite":"RW"}}]}}`, ",") + "]",
		"labels":       profile("pi", `"labels":[`+growthParts(n, `"l~"`, ",")+`],`+`"deviceResources":[`+growthParts(1, resource, ",")+`]`),
	})
	jsonTo("metadata", "PUT", "/deviceprofile", map[string]string{
		"all other": profile("pa", strings.ReplaceAll(resources, "RW", "R")),
		"reversed":  profile("pa", `"deviceResources":[`+reversedParts(n, resource)+`]`),
		"fewer":     profile("pa", `"deviceResources":[`+growthParts(n/2, resource, ",")+`]`),
		"commands":  profile("pb", resources+","+strings.ReplaceAll(commands, `"c`, `"d`)),
	})
	jsonTo("metadata", "PATCH", "/deviceprofile/basicinfo", map[string]string{
		"labels": `[{"apiVersion":"v2","basicinfo":{"name":"pa","labels":[` + growthParts(n, `"m~"`, ",") + `]}}]`,
	})
	jsonTo("metadata", "POST", "/deviceservice", map[string]string{
		"labels": `[{"apiVersion":"v2","service":{"name":"s","baseAddress":"http://127.0.0.1:1","adminState":"UNLOCKED","labels":[` + growthParts(n, `"l~"`, ",") + `]}}]`,
		"many":   "[" + growthParts(n, `{"apiVersion":"v2","service":{"name":"s~","baseAddress":"http://127.0.0.1:1","adminState":"UNLOCKED"}}`, ",") + "]",
	})
	jsonTo("metadata", "POST", "/provisionwatcher", map[string]string{
		"identifiers": `[{"apiVersion":"v2","provisionwatcher":{"name":"w","serviceName":"device-rest","profileName":"hall-sensor","adminState":"UNLOCKED","identifiers":{` + growthParts(n, `"k~":"v"`, ",") + `}}}]`,
		"blocking":    `[{"apiVersion":"v2","provisionwatcher":{"name":"v","serviceName":"device-rest","profileName":"hall-sensor","adminState":"UNLOCKED","identifiers":{"a":"b"},"blockingIdentifiers":{` + growthParts(n, `"k~":["v","w"]`, ",") + `}}}]`,
		"a list":      `[{"apiVersion":"v2","provisionwatcher":{"name":"u","serviceName":"device-rest","profileName":"hall-sensor","adminState":"UNLOCKED","identifiers":{"a":"b"},"blockingIdentifiers":{"k":[` + growthParts(n, `"v~"`, ",") + `]}}}]`,
	})
	yamlTo := func(name, text string) {
		contentType, body := formOf("file", text)
		all = append(all, growthInput{name: "YAML " + name, port: "metadata", method: "POST", path: "/api/v2/deviceprofile/uploadfile", contentType: contentType, body: body})
		contentType, body = formOf("action", "apply", "text", text)
		all = append(all, growthInput{name: "import " + name, port: "console", method: "POST", path: "/devices/+import", contentType: contentType, body: body})
		contentType, body = formOf("file", text)
		all = append(all, growthInput{name: "upload " + name, port: "console", method: "POST", path: "/profiles/+upload", contentType: contentType, body: body})
	}
	yamlResources := "deviceResources:\n" + growthParts(n, "- {name: r~, properties: {valueType: String, readWrite: RW}}\n", "")
	for name, text := range inOrder(map[string]string{
		"resources":   "name: y1\n" + yamlResources,
		"unknown":     "name: y2\n" + growthParts(n, "k~: 1\n", "") + "deviceResources:\n- {name: r, properties: {valueType: String, readWrite: RW}}\n",
		"attributes":  "name: y3\ndeviceResources:\n- name: r\n  properties: {valueType: String, readWrite: RW}\n  attributes:\n" + growthParts(n, "    k~: v~\n", ""),
		"aliases":     "name: y4\nx-a: &a {name: r, properties: {valueType: String, readWrite: RW}}\ndeviceResources:\n" + growthParts(n, "- *a\n", ""),
		"anchors":     "name: y5\ndeviceResources:\n" + growthParts(n, "- &a~ {name: r~, properties: {valueType: String, readWrite: RW}}\n", ""),
		"merges":      "name: y6\nx-a: &a {valueType: String, readWrite: RW}\ndeviceResources:\n" + growthParts(n, "- {name: r~, properties: {<<: *a}}\n", ""),
		"merge list":  "name: y7\nx-a: &a {valueType: String}\ndeviceResources:\n- {name: r, properties: {readWrite: RW, <<: [" + growthParts(n, "*a", ", ") + "]}}\n",
		"documents":   growthParts(n, "---\nname: y8\n", ""),
		"comments":    "name: y9\n" + growthParts(n, "# comment ~\n", "") + yamlResources,
		"lists":       "name: y10\ndeviceResources: " + growthParts(n, "[", ""),
		"long text":   "name: y11\ndescription: >\n" + growthParts(n, "  line ~\n\n", "") + yamlResources,
		"long line":   "name: y12\ndescription: " + growthParts(n, "word~", " ") + "\n" + yamlResources,
		"quoted":      "name: y13\ndescription: \"" + growthParts(n, "\\x41\\n", "") + "\"\n" + yamlResources,
		"empty":       "name: y14\ndeviceResources:\n" + growthParts(n, "- {}\n", ""),
		"flow":        "name: y15\ndeviceResources: [" + growthParts(n, "a", ",") + "]",
		"TOML":        growthParts(n, "[[DeviceList]]\nName = 't~'\nProfileName = 'hall-sensor'\n[DeviceList.Protocols.other]\nAddress = 'a~'\n", ""),
		"TOML keys":   "[[DeviceList]]\nName = 'tk'\nProfileName = 'hall-sensor'\n[DeviceList.Protocols.other]\n" + growthParts(n, "k~ = 1\n", ""),
		"TOML lists":  "[[DeviceList]]\nName = 'tl'\nProfileName = 'hall-sensor'\nLabels = [" + growthParts(n, "'l~'", ",") + "]\n",
		"TOML dotted": "[[DeviceList]]\nName = 'td'\n" + growthParts(n, "a", ".") + " = 1\n",
		"CSV":         "name,profileName,labels,protocols.other.Address\n" + growthParts(n, "c~,hall-sensor,l,a\n", ""),
		"CSV columns": "name,profileName," + growthParts(n, "protocols.other.k~", ",") + "\ncc,hall-sensor," + growthParts(n, "~", ",") + "\n",
		"JSON":        "[" + growthParts(n, `{"name":"j~","profileName":"hall-sensor","protocols":{"other":{}}}`, ",") + "]",
		"JSON keys":   `[{"name":"jk","profileName":"hall-sensor","protocols":{"other":{` + growthParts(n, `"k~":~`, ",") + `}},` + growthParts(n, `"u~":1`, ",") + `}]`,
		"devices":     "deviceList:\n" + growthParts(n, "- {name: i~, profileName: hall-sensor, protocols: {other: {}}}\n", ""),
		"same device": "deviceList:\n" + growthParts(n, "- {name: same, profileName: hall-sensor, protocols: {other: {}}}\n", ""),
		"keys":        "deviceList:\n- name: ik\n  profileName: hall-sensor\n  protocols: {other: {}}\n" + growthParts(n, "  k~: 1\n", ""),
	}) {
		yamlTo(name, text)
	}
	for _, list := range []string{"/device/all", "/deviceprofile/all", "/deviceservice/all", "/provisionwatcher/all"} {
		for name, query := range inOrder(map[string]string{
			"labels": "?labels=" + growthParts(n, "l~", ","), "parameters": "?" + growthParts(n, "k~=1", "&"), "same": "?" + growthParts(n, "labels=l~", "&"), "all": "?limit=-1", "commas": "?labels=" + growthParts(n, "", ","),
			"many": "?limit=1000&labels=l",
		}) {
			all = append(all, growthInput{name: list + " " + name, port: "metadata", path: "/api/v2" + list + query})
		}
	}
	for name, header := range inOrder(map[string][2]string{
		"If-None-Match": {"If-None-Match", growthParts(n, `"~"`, ", ")}, "Accept": {"Accept", growthParts(n, "a/b~;q=0.1", ", ")}, "Accept-Encoding": {"Accept-Encoding", growthParts(n, "x~;q=0.1", ", ")},
		"Cookie": {"Cookie", growthParts(n, "a~=b", "; ")}, "X-Forwarded-For": {"X-Forwarded-For", growthParts(n, "10.0.0.1", ", ")}, "Range": {"Range", "bytes=" + growthParts(n, "~-~", ",")},
		"Ledge-Hops": {"Ledge-Hops", growthParts(n, "h~", ",")}, "X-Correlation-ID": {"X-Correlation-ID", growthParts(n, "x", "")}, "Content-Type": {"Content-Type", "a/b" + growthParts(n, "; a~=b", "")},
	}) {
		all = append(all, growthInput{name: "header " + name, port: "metadata", path: "/api/v2/device/name/camera", header: header},
			growthInput{name: "header " + name, port: "data", path: "/api/v2/reading/all", header: header},
			growthInput{name: "header " + name, port: "device-rest", method: "POST", path: "/api/v2/resource/camera/firmware", header: header, body: "x"},
			growthInput{name: "header " + name, port: "console", path: "/devices", header: header})
	}
	events := 0
	nextID := func() string { events++; return fmt.Sprintf("00000000-0000-4000-9000-%012d", events) }
	event := func(readings, tags string) string {
		return `{"apiVersion":"v2","event":{"apiVersion":"v2","id":"` + nextID() + `","deviceName":"camera","profileName":"hall-sensor","sourceName":"note","origin":1,"readings":[` + readings + `],"tags":{` + tags + `}}}`
	}
	reading := `{"id":"00000000-0000-4000-8000-PAD","origin":1,"deviceName":"camera","resourceName":"note","profileName":"hall-sensor","valueType":"String","value":"v~"}`
	eventPath := "/event/hall-sensor/camera/note"
	jsonTo("data", "POST", eventPath, map[string]string{
		"readings": event(growthReadings(n, reading), ""),
		"tags":     event(`{"id":"00000000-0000-4000-8000-000000000001","origin":1,"deviceName":"camera","resourceName":"note","profileName":"hall-sensor","valueType":"String","value":"v"}`, growthParts(n, `"t~":"x"`, ",")),
		"array":    event(`{"id":"00000000-0000-4000-8000-000000000002","origin":1,"deviceName":"camera","resourceName":"status","profileName":"hall-sensor","valueType":"Int32Array","value":"[`+growthParts(n, "~", ",")+`]"}`, ""),
		"unknown":  event(`{"id":"00000000-0000-4000-8000-000000000003","origin":1,"deviceName":"camera","resourceName":"note","profileName":"hall-sensor","valueType":"String","value":"v",`+growthParts(n, `"k~":1`, ",")+`}`, ""),
		"object":   event(`{"id":"00000000-0000-4000-8000-000000000004","origin":1,"deviceName":"camera","resourceName":"status","profileName":"hall-sensor","valueType":"Object","objectValue":{`+growthParts(n, `"k~":[~]`, ",")+`}}`, ""),
	})
	for name, body := range inOrder(map[string]string{"keys": "{" + growthParts(n, `"k~":~`, ",") + "}", "list": "[" + growthParts(n, "~", ",") + "]", "nested": `{"a":` + growthParts(min(n, 60), "[", "") + growthParts(min(n, 60), "]", "") + `}`, "same keys": "{" + growthParts(n, `"k":1`, ",") + "}"}) {
		all = append(all, growthInput{name: "Object " + name, port: "device-rest", method: "POST", path: "/api/v2/resource/camera/status", contentType: "application/json", body: body})
	}
	for _, name := range []string{"/reading/all?limit=1000", "/event/all?limit=1000", "/reading/resourceName/note?limit=1000", "/reading/device/name/camera/resourceName/note?limit=1000"} {
		all = append(all, growthInput{name: name, port: "data", path: "/api/v2" + name})
	}
	jsonTo("data", "GET", "/reading/device/name/camera/start/0/end/99999999999999", map[string]string{"resourceNames": `{"resourceNames":[` + growthParts(n/4, `"r~"`, ",") + `]}`})
	subscription := func(name, fields string) string {
		return `[{"apiVersion":"v2","subscription":{"name":"` + name + `","receiver":"r","adminState":"UNLOCKED",` + fields + `}}]`
	}
	channel := `"channels":[{"type":"REST","host":"127.0.0.1","port":1,"httpMethod":"POST","path":"/"}]`
	jsonTo("notifications", "POST", "/subscription", map[string]string{
		"categories": subscription("sa", channel+`,"categories":[`+growthParts(n/4, `"c~"`, ",")+`]`),
		"labels":     subscription("sb", channel+`,"labels":[`+growthParts(n/4, `"l~"`, ",")+`]`),
		"channels":   subscription("sc", `"categories":["x"],"channels":[`+growthParts(n/16, `{"type":"REST","host":"127.0.0.1","port":1,"httpMethod":"POST","path":"/~"}`, ",")+`]`),
		"recipients": subscription("sd", `"categories":["x"],"channels":[{"type":"EMAIL","recipients":[`+growthParts(n/16, `"a~@example.org"`, ",")+`]}]`),
		"many":       "[" + growthParts(n, strings.Trim(subscription("many~", channel+`,"categories":["many~"]`), "[]"), ",") + "]",
		"unknown":    subscription("se", channel+`,"categories":["x"],`+growthParts(n, `"k~":1`, ",")),
		"zeromq":     subscription("sf", `"categories":["x"],"channels":[`+growthParts(n/16, `{"type":"ZeroMQ","host":"nobody.invalid","port":5563,"topic":"t~"}`, ",")+`]`),
	})
	notification := func(fields string) string {
		return `{"apiVersion":"v2","notification":{"category":"none","content":"c","sender":"s","severity":"NORMAL",` + fields + `}}`
	}
	jsonTo("notifications", "POST", "/notification", map[string]string{
		"labels":  "[" + notification(`"labels":[`+growthParts(n/4, `"l~"`, ",")+`]`) + "]",
		"many":    "[" + growthParts(n, notification(`"labels":["m~"]`), ",") + "]",
		"matched": "[" + growthParts(n, strings.Replace(notification(`"labels":["m~"]`), `"none"`, `"many~"`, 1), ",") + "]",
		"unknown": "[" + notification(growthParts(n, `"k~":1`, ",")) + "]",
	})
	for _, one := range []string{
		"PUT /notification/acknowledge/ids/" + growthParts(n, "00000000-0000-4000-8000-~", ","), "DELETE /notification/ids/" + growthParts(n, "00000000-0000-4000-8000-~", ","),
		"GET /notification/subscription/name/sb?limit=1000", "GET /notification/subscription/name/sa?limit=1000", "GET /transmission/all?limit=1000", "GET /notification/label/m1", "GET /subscription/all?limit=1000", "GET /endpoint/all",
		"GET /notification/category/none?limit=1000", "GET /transmission/subscription/name/many1", "DELETE /notification/age/0", "DELETE /cleanup",
	} {
		method, path, _ := strings.Cut(one, " ")
		all = append(all, growthInput{name: fmt.Sprintf("%.60s", one), port: "notifications", method: method, path: "/api/v2" + path})
	}
	jsonTo("notifications", "POST", "/secret", map[string]string{"keys": `{"apiVersion":"v2","path":"p","secretData":[` + growthParts(n, `{"key":"k~","value":"v"}`, ",") + `]}`})
	for path := range inOrder(ledgetest.ConsoleRoutes()) {
		method, path, _ := strings.Cut(path, " ")
		if method != http.MethodGet || path == "/live" {
			continue
		}
		path = strings.NewReplacer(":name", "camera", ":resource", "note", ":id", "x", ":file", "x", ":seq", "1", ":log", "changes").Replace(path)
		q := growthParts(n/8+1, "w~", "+")
		for _, query := range []string{"q=" + q + "&text=" + q + "&limit=1000&label=" + q, growthParts(n, "k~=1", "&"), "at=" + growthParts(n, "1", "") + "&from=" + growthParts(n, "9", "")} {
			all = append(all, growthInput{name: "page " + path, port: "console", path: path + "?" + query})
		}
	}
	for _, name := range []string{"pa", "pb", "pc", "pd", "pe"} {
		all = append(all, growthInput{name: "page of profile", port: "console", path: "/profiles/" + name}, growthInput{name: "edit of profile", port: "console", path: "/profiles/" + name + "/edit"})
	}
	for _, name := range []string{"d", "d3", "d4", "d5", "camera"} {
		for _, page := range []string{"", "/edit", "/history", "/history?back=100", "/delete"} {
			all = append(all, growthInput{name: "page of device", port: "console", path: "/devices/" + name + page})
		}
	}
	form := func(path string, values url.Values) {
		all = append(all, growthInput{name: "form " + path, port: "console", method: "POST", path: path, contentType: "application/x-www-form-urlencoded", body: values.Encode()})
	}
	list := func(format, separator string) []string { return []string{growthParts(n, format, separator)} }
	form("/devices/+add", url.Values{"name": {"f1"}, "profile": {"hall-sensor"}, "service": {"device-rest"}, "labels": list("l~", ","), "protocol": {"rest"}, "properties": list("p~: {a: b}\n", "")})
	form("/devices/camera/edit", url.Values{"labels": list("x~", ","), "properties": {"rest: {" + growthParts(n, "k~: v", ", ") + "}"}, "auto": list("- {interval: 1s, sourceName: s~}\n", "")})
	form("/devices", url.Values{"name": strings.Split(growthParts(n, "many~", " "), " "), "action": {"lock"}})
	form("/devices", url.Values{"name": strings.Split(growthParts(min(n/16, 50), "many~", " "), " "), "action": {"label"}, "label": {"y"}})
	form("/subscriptions/+add", url.Values{"name": {"g1"}, "receiver": {"r"}, "categories": list("c~", ","), "labels": list("l~", ","), "channels[0].type": {"EMAIL"}, "channels[0].recipients": list("a~@b.c", ",")})
	form("/services/+add", url.Values{"name": {"g2"}, "labels": list("l~", ","), "baseAddress": {"http://127.0.0.1:1"}})
	form("/watchers/+add", url.Values{"name": {"g3"}, "identifiers": list("k~: v", "\n"), "blockingIdentifiers": list("k~: v", "\n"), "serviceName": {"device-rest"}, "profileName": {"hall-sensor"}})
	form("/notifications/+send", url.Values{"category": {"c"}, "labels": list("l~", ","), "content": list("c~", " "), "sender": {"s"}, "severity": {"NORMAL"}})
	form("/profiles/pa/edit", url.Values{"yaml": {"name: pa\ndeviceResources:\n" + growthParts(n, "- {name: r~, properties: {valueType: Strin}}\n", "")}})
	form("/profiles/pa/edit", url.Values{"yaml": {"name: pa\n" + growthParts(n, "nam~: x\n", "")}})
	form("/account/password", url.Values{"old": list("a", ""), "new": list("b", ""), "again": list("b", "")})
	form("/logout", url.Values{})
	return all
}

// inOrder goes over a map by its keys, so that nodes which get inputs of other sizes get them in the same order.
func inOrder[V any](of map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if !yield(key, of[key]) {
				return
			}
		}
	}
}

func reversedParts(n int, format string) string {
	all := strings.Split(growthParts(n, format, "\x00"), "\x00")
	slices.Reverse(all)
	return strings.Join(all, ",")
}

func growthReadings(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.NewReplacer("PAD", fmt.Sprintf("%012d", i+1000), "~", strconv.Itoa(i)).Replace(format)
	}
	return strings.Join(all, ",")
}
