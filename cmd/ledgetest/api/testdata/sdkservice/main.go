// Sdkservice is a device service on EdgeX's own SDK: a driver without hardware, which prints what the SDK has it do.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	sdk "github.com/edgexfoundry/device-sdk-go/v2/pkg/models"
	"github.com/edgexfoundry/device-sdk-go/v2/pkg/service"
	"github.com/edgexfoundry/device-sdk-go/v2/pkg/startup"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/clients/logger"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/models"
)

func main() {
	startup.Bootstrap(cmp.Or(os.Getenv("SDK_SERVICE_NAME"), "device-sdk"), "2.3.1", &driver{})
}

type driver struct{}

type protocols = map[string]models.ProtocolProperties

// Initialize adds a path that shows what the SDK knows.
func (*driver) Initialize(logger.LoggingClient, chan<- *sdk.AsyncValues, chan<- []sdk.DiscoveredDevice) error {
	return service.RunningService().AddRoute("/known", known, http.MethodGet)
}

func known(w http.ResponseWriter, _ *http.Request) {
	s := service.RunningService()
	_ = json.NewEncoder(w).Encode(map[string]any{
		"devices": s.Devices(), "profiles": s.DeviceProfiles(), "watchers": s.ProvisionWatchers(),
	})
}

// ValidateDevice takes no device whose name begins with bad.
func (*driver) ValidateDevice(d models.Device) error {
	if strings.HasPrefix(d.Name, "bad") {
		return fmt.Errorf("%s has no address", d.Name)
	}
	return nil
}

func (*driver) AddDevice(name string, _ protocols, state models.AdminState) error {
	fmt.Println("added", name, state)
	return nil
}

func (*driver) UpdateDevice(name string, _ protocols, state models.AdminState) error {
	fmt.Println("updated", name, state)
	return nil
}

func (*driver) RemoveDevice(name string, _ protocols) error {
	fmt.Println("removed", name)
	return nil
}

// HandleReadCommands returns a value of each type that the test has; of others there is no hardware.
func (*driver) HandleReadCommands(_ string, _ protocols, requests []sdk.CommandRequest) (all []*sdk.CommandValue, err error) {
	for _, r := range requests {
		value, ok := map[string]any{
			"Float32": float32(21.5), "Binary": []byte{0xff, 0xd8, 0xff, 0xd9}, "Object": map[string]any{"fan": "on", "speed": 3},
		}[r.Type]
		if !ok {
			return nil, fmt.Errorf("there is no hardware")
		}
		one, err := sdk.NewCommandValue(r.DeviceResourceName, r.Type, value)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (*driver) HandleWriteCommands(device string, _ protocols, _ []sdk.CommandRequest, values []*sdk.CommandValue) error {
	for _, v := range values {
		fmt.Println("wrote", device, v.DeviceResourceName, v.ValueToString())
	}
	return nil
}

func (*driver) Stop(bool) error { return nil }
