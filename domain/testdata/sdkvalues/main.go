// Sdkvalues answers what EdgeX's device SDK makes of posted texts: standard input has a JSON list of posts, standard
// output gets a list of as many readings.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/edgexfoundry/device-sdk-go/v2/internal/cache"
	"github.com/edgexfoundry/device-sdk-go/v2/internal/config"
	"github.com/edgexfoundry/device-sdk-go/v2/internal/container"
	"github.com/edgexfoundry/device-sdk-go/v2/internal/transformer"
	sdk "github.com/edgexfoundry/device-sdk-go/v2/pkg/models"
	bootstrap "github.com/edgexfoundry/go-mod-bootstrap/v2/bootstrap/container"
	"github.com/edgexfoundry/go-mod-bootstrap/v2/di"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/clients/interfaces"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/clients/logger"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/dtos"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/dtos/common"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/dtos/requests"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/dtos/responses"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/errors"
	"github.com/edgexfoundry/go-mod-core-contracts/v2/models"
)

// name is that of the one device, profile, resource and command.
const name = "it"

type post struct {
	Properties dtos.ResourceProperties
	Mappings   map[string]string
	Text       string
}

type reading struct {
	Type, Text, Error string
	State             string // that the device gets
}

func main() {
	var posts []post
	if err := json.NewDecoder(os.Stdin).Decode(&posts); err != nil {
		log.Fatal(err)
	}
	metadata := &metadata{states: make(chan string)}
	dic := di.NewContainer(di.ServiceConstructorMap{
		bootstrap.LoggingClientInterfaceName: func(di.Get) any { return logger.NewMockClient() },
		bootstrap.DeviceClientName:           func(di.Get) any { return metadata },
		bootstrap.DeviceProfileClientName:    func(di.Get) any { return profiles{} },
		bootstrap.ProvisionWatcherClientName: func(di.Get) any { return watchers{} },
		container.ConfigurationName: func(di.Get) any {
			return &config.ConfigurationStruct{Device: config.DeviceInfo{DataTransform: true, MaxCmdOps: 1}}
		},
	})
	if err := cache.InitCache(name, dic); err != nil {
		log.Fatal(err)
	}
	readings := make([]reading, len(posts))
	for i, p := range posts {
		readings[i] = p.read(dic)
		if strings.Contains(readings[i].Error, "Assertion failed") {
			readings[i].State = <-metadata.states
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(readings); err != nil {
		log.Fatal(err)
	}
}

func (p post) read(dic *di.Container) reading {
	err := cache.Profiles().Update(dtos.ToDeviceProfileModel(dtos.DeviceProfile{
		DeviceProfileBasicInfo: dtos.DeviceProfileBasicInfo{Name: name},
		DeviceResources:        []dtos.DeviceResource{{Name: name, Properties: p.Properties}},
		DeviceCommands:         []dtos.DeviceCommand{{Name: name, ResourceOperations: []dtos.ResourceOperation{{DeviceResource: name, Mappings: p.Mappings}}}},
	}))
	if err != nil {
		return reading{Error: err.Error()}
	}
	typed, parseErr := parse(p.Properties.ValueType, p.Text)
	if parseErr != nil {
		return reading{Error: parseErr.Error()}
	}
	value, valueErr := sdk.NewCommandValue(name, p.Properties.ValueType, typed)
	if valueErr != nil {
		return reading{Error: valueErr.Error()}
	}
	event, err := transformer.CommandValuesToEventDTO([]*sdk.CommandValue{value}, name, name, dic)
	if err != nil {
		return reading{Error: err.Error()}
	}
	got := event.Readings[0]
	if got.ObjectValue != nil {
		object, _ := json.Marshal(got.ObjectValue)
		got.Value = string(object)
	}
	return reading{Type: got.ValueType, Text: got.Value}
}

// parse is what a driver does: the SDK takes values of Go's types.
func parse(valueType, text string) (any, error) {
	switch valueType {
	case "Bool":
		return strconv.ParseBool(text)
	case "String":
		return text, nil
	case "Uint8":
		n, err := strconv.ParseUint(text, 0, 8)
		return uint8(n), err
	case "Uint16":
		n, err := strconv.ParseUint(text, 0, 16)
		return uint16(n), err
	case "Uint32":
		n, err := strconv.ParseUint(text, 0, 32)
		return uint32(n), err
	case "Uint64":
		return strconv.ParseUint(text, 0, 64)
	case "Int8":
		n, err := strconv.ParseInt(text, 0, 8)
		return int8(n), err
	case "Int16":
		n, err := strconv.ParseInt(text, 0, 16)
		return int16(n), err
	case "Int32":
		n, err := strconv.ParseInt(text, 0, 32)
		return int32(n), err
	case "Int64":
		return strconv.ParseInt(text, 0, 64)
	case "Float32":
		f, err := strconv.ParseFloat(text, 32)
		return float32(f), err
	case "Float64":
		return strconv.ParseFloat(text, 64)
	case "Object":
		return decode[map[string]any](text)
	case "BoolArray":
		return decode[[]bool](text)
	case "StringArray":
		return decode[[]string](text)
	case "Uint8Array":
		wide, err := decode[[]uint16](text) // []uint8 is base64 in JSON
		list := make([]uint8, len(wide))
		for i, n := range wide {
			list[i] = uint8(n)
		}
		return list, err
	case "Uint16Array":
		return decode[[]uint16](text)
	case "Uint32Array":
		return decode[[]uint32](text)
	case "Uint64Array":
		return decode[[]uint64](text)
	case "Int8Array":
		return decode[[]int8](text)
	case "Int16Array":
		return decode[[]int16](text)
	case "Int32Array":
		return decode[[]int32](text)
	case "Int64Array":
		return decode[[]int64](text)
	case "Float32Array":
		return decode[[]float32](text)
	case "Float64Array":
		return decode[[]float64](text)
	}
	return nil, fmt.Errorf("value type %q", valueType)
}

func decode[T any](text string) (v T, err error) { return v, json.Unmarshal([]byte(text), &v) }

// metadata knows the device, and passes on which state it gets.
type metadata struct {
	interfaces.DeviceClient
	states chan string
}

func (*metadata) DevicesByServiceName(context.Context, string, int, int) (r responses.MultiDevicesResponse, _ errors.EdgeX) {
	r.Devices = []dtos.Device{{Name: name, ProfileName: name, AdminState: models.Unlocked, OperatingState: models.Up}}
	return r, nil
}

func (m *metadata) Update(_ context.Context, reqs []requests.UpdateDeviceRequest) ([]common.BaseResponse, errors.EdgeX) {
	m.states <- *reqs[0].Device.Name + " " + *reqs[0].Device.OperatingState
	return nil, nil
}

type profiles struct{ interfaces.DeviceProfileClient }

func (profiles) DeviceProfileByName(context.Context, string) (r responses.DeviceProfileResponse, _ errors.EdgeX) {
	r.Profile.Name = name
	return r, nil
}

type watchers struct {
	interfaces.ProvisionWatcherClient
}

func (watchers) ProvisionWatchersByServiceName(context.Context, string, int, int) (r responses.MultiProvisionWatchersResponse, _ errors.EdgeX) {
	return r, nil
}
