package devicerest

import (
	"fmt"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

const command = "/api/v2/device/name/cam-1/"

// failed is the envelope of a refusal.
func failed(status int, message string) string {
	return fmt.Sprintf(`{"apiVersion":"v2","message":%q,"statusCode":%d}`+"\n", message, status)
}

func TestCommands(t *testing.T) {
	h, log, _ := mustDeviceREST(t)
	ask := func(name, method, path, body string, status int, message string) handlerstest.Scenario {
		s := handlerstest.Scenario{Name: name, Method: method, Path: path, Body: body, Status: status, WantBody: failed(status, message)}
		if status == 400 { // with errors beside the message
			s.Contains, s.WantBody = []string{strings.TrimSuffix(s.WantBody, "}\n") + `,"errors":[{"path":`}, ""
		}
		return s
	}
	const (
		read    = "read commands are not supported: the values of 'cam-1' are posted to /api/v2/resource/cam-1/…, and it cannot be asked"
		write   = "write commands are not supported: the values of 'cam-1' are posted to /api/v2/resource/cam-1/…, and it cannot be asked"
		nosuch  = "Command or resource 'nosuch' not found in the profile 'all' of the device; add it there or correct the command name"
		noread  = "'%s' is write-only; ask for another or change its readWrite in the profile 'all'"
		nowrite = "'%s' is read-only; ask for another or change its readWrite in the profile 'all'"
		foreign = "Device 'other-1' not found: its serviceName is 'device-virtual'; change that to 'device-rest' or correct the device name"
		nobody  = "Device 'nobody' not found; add it at core-metadata first or correct the device name"
	)
	handlerstest.Run(t, h, log, []handlerstest.Scenario{
		ask("read a resource", "GET", command+"vInt32", "", 500, read),
		ask("read a command", "GET", command+"readIt", "", 500, read),
		ask("read both ways", "GET", command+"RW?ds-pushevent=yes&ds-returnevent=no&else=%20", "", 500, read),
		ask("read write-only resource", "GET", command+"W", "", 405, fmt.Sprintf(noread, "W")),
		ask("read write-only command", "GET", command+"writeIt", "", 405, fmt.Sprintf(noread, "writeIt")),
		ask("read unknown", "GET", command+"nosuch", "", 404, nosuch),
		ask("read from nobody", "GET", "/api/v2/device/name/nobody/W", "", 404, nobody),
		ask("read from another service's", "GET", "/api/v2/device/name/other-1/W", "", 404, foreign),
		ask("push perhaps", "GET", "/api/v2/device/name/nobody/W?ds-pushevent=true&ds-returnevent=", "", 400,
			`ds-pushevent: "true" is unknown; use one of yes, no; ds-returnevent: "" is unknown; use one of yes, no`),
		{Name: "malformed query", Method: "GET", Path: command + "vInt32?a=%25zz&%zz", Status: 400, Contains: []string{"the query is malformed"}},
		ask("write a resource", "PUT", command+"W", `{"W":"5"}`, 500, write),
		ask("write a command", "PUT", command+"writeIt", `{}`, 500, write),
		ask("write nothing", "PUT", command+"RW", "", 500, write),
		ask("write read-only resource", "PUT", command+"vInt32", `{"vInt32":"5"}`, 405, fmt.Sprintf(nowrite, "vInt32")),
		ask("write read-only command", "PUT", command+"readIt", `{}`, 405, fmt.Sprintf(nowrite, "readIt")),
		ask("a command goes before the resource of its name", "PUT", command+"vInt8", `{}`, 500, write),
		ask("write unknown", "PUT", command+"nosuch", `{}`, 404, nosuch),
		{Name: "write an array", Method: "PUT", Path: "/api/v2/device/name/nobody/W", Body: "[]", Status: 400, Contains: []string{"no JSON object"}},
		{Name: "write what ends early", Method: "PUT", Path: command + "W", Body: `{"W":`, Status: 400, Contains: []string{"unexpected EOF"}},
	})
	for _, c := range []struct {
		given domain.Command
		want  string
	}{
		{setDevice("UNLOCKED", "DOWN"), "Device 'cam-1' is DOWN; set its operatingState to UP at core-metadata"},
		{setDevice("LOCKED", "DOWN"), "Device 'cam-1' is LOCKED; set its adminState to UNLOCKED at core-metadata"},
		{setService("LOCKED"), "Device service 'device-rest' is LOCKED; set its adminState to UNLOCKED at core-metadata"},
	} {
		log.Given(t, c.given)
		handlerstest.Run(t, h, log, []handlerstest.Scenario{ask("read", "GET", command+"nosuch", "", 423, c.want), ask("write", "PUT", command+"nosuch", "{}", 423, c.want)})
	}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{ask("read from nobody", "GET", "/api/v2/device/name/nobody/W", "", 423, "Device service 'device-rest' is LOCKED; set its adminState to UNLOCKED at core-metadata")})
}

func TestDiscovery(t *testing.T) {
	h, log, _ := mustDeviceREST(t)
	ask := handlerstest.Scenario{Name: "discover", Method: "POST", Path: "/api/v2/discovery", Status: 501, WantBody: failed(501, "device discovery is not supported by device-rest; add devices at core-metadata")}
	handlerstest.Run(t, h, log, []handlerstest.Scenario{ask})
	log.Given(t, setService("LOCKED"))
	ask.Status, ask.WantBody = 423, failed(423, "Device service 'device-rest' is LOCKED; set its adminState to UNLOCKED at core-metadata")
	handlerstest.Run(t, h, log, []handlerstest.Scenario{ask})
}
