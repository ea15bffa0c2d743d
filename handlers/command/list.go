package command

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/answers"
	"ledge/handlers/entities"
)

// deviceCommands are the commands of a device, as EdgeX 2.3 shows them.
type deviceCommands struct {
	DeviceName   string        `json:"deviceName"`
	ProfileName  string        `json:"profileName"`
	CoreCommands []coreCommand `json:"coreCommands"`
}

// coreCommand is a device command or a resource of a profile.
type coreCommand struct {
	Name       string      `json:"name"`
	Get        bool        `json:"get,omitempty"`
	Set        bool        `json:"set,omitempty"`
	Path       string      `json:"path"`
	URL        string      `json:"url"` // of core-command
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	ResourceName string `json:"resourceName"`
	ValueType    string `json:"valueType"`
}

// commandsAnswer answers with the commands of one device.
type commandsAnswer struct {
	handlers.Envelope
	DeviceCoreCommand deviceCommands `json:"deviceCoreCommand"`
}

var (
	deviceKind = entities.Kind[domain.Device]{List: domain.ListDevices,
		Table: func(s domain.State) domain.Table[domain.Device] { return s.Devices }}
	profilesOf = func(s domain.State) domain.Table[domain.Profile] { return s.Profiles }
	servicesOf = func(s domain.State) domain.Table[domain.DeviceService] { return s.Services }
)

func (s service) listAll(c *gin.Context) {
	err := checkNumbers(c)
	var found *entities.Found[domain.Device]
	if err == nil {
		found, err = handlers.FindPage(s.API, c, s.state, deviceKind, func(*gin.Context) ([]domain.Filter, error) { return nil, nil })
	}
	if domain.CodeOf(err) == domain.OutOfRange {
		err = wrapAnswer(http.StatusRequestedRangeNotSatisfiable, err.Error(), "\n")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	handlers.ReplyFound(s.API, c, found, "deviceCoreCommands", s.commandsOf)
}

// checkNumbers refuses texts that are not numbers as EdgeX 2.3 does.
func checkNumbers(c *gin.Context) error {
	for _, key := range []string{"offset", "limit"} {
		if text, ok := c.GetQuery(key); ok {
			if _, err := strconv.Atoi(text); err != nil {
				const notInteger = "failed to parse querystring %s's value %.80s into integer. Error:%.200v"
				return domain.Errorf(domain.Invalid, notInteger, key, text, err)
			}
		}
	}
	return nil
}

func (s service) listOfDevice(c *gin.Context) {
	memory := s.AnswerMemoryOf(c)
	defer memory.Release()
	d, _, err := s.find(memory, c.Param("name"))
	if err != nil {
		s.fail(c, err)
		return
	}
	all, err := s.commandsOf(&d, memory)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.ReplyLarge(c, memory, commandsAnswer{s.Envelope(http.StatusOK), all})
}

// commandsOf returns the commands of a device: the profile's commands and its resources of other names. It leaves out hidden ones.
func (s service) commandsOf(d *domain.Device, memory *answers.Memory) (deviceCommands, error) {
	all := deviceCommands{DeviceName: strings.Clone(d.Name), ProfileName: strings.Clone(d.ProfileName)}
	*d = domain.Device{} // the profile takes the memory
	var p domain.Profile
	if _, err := entities.LookUp(memory, s.state, profilesOf, all.ProfileName, &p); err != nil {
		return all, err
	}
	types := map[string]string{}
	for i := range p.DeviceResources {
		types[p.DeviceResources[i].Name] = p.DeviceResources[i].Properties.ValueType
	}
	add := func(name, readWrite string, parameters []parameter) {
		all.CoreCommands = append(all.CoreCommands, coreCommand{
			Name: name, Get: strings.Contains(readWrite, "R"), Set: strings.Contains(readWrite, "W"),
			Path: fmt.Sprintf("/api/%s/device/name/%s/%s", s.APIVersion, all.DeviceName, name), URL: s.Addresses[s.Service],
			Parameters: parameters,
		})
	}
	shown := map[string]bool{}
	for _, one := range p.DeviceCommands {
		if one.IsHidden {
			continue
		}
		var parameters []parameter
		for _, operation := range one.ResourceOperations {
			parameters = append(parameters, parameter{operation.DeviceResource, types[operation.DeviceResource]})
		}
		shown[one.Name] = true
		add(one.Name, one.ReadWrite, parameters)
	}
	for i := range p.DeviceResources {
		if r := &p.DeviceResources[i]; !r.IsHidden && !shown[r.Name] {
			add(r.Name, r.Properties.ReadWrite, []parameter{{r.Name, r.Properties.ValueType}})
		}
	}
	return all, nil
}
