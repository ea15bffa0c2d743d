package metadata

import (
	"ledge/domain"
	"ledge/handlers"
)

// profileShape is a device profile in requests, answers and uploaded files. As in EdgeX 2.3 an answer has what is empty
// too, and null for no labels.
type profileShape struct {
	Created         int64           `json:"created,omitempty" yaml:"-"`
	Modified        int64           `json:"modified,omitempty" yaml:"-"`
	ID              string          `json:"id,omitempty" yaml:"id"`
	Name            string          `json:"name" yaml:"name"`
	Manufacturer    string          `json:"manufacturer" yaml:"manufacturer"`
	Description     string          `json:"description" yaml:"description"`
	Model           string          `json:"model" yaml:"model"`
	Labels          []string        `json:"labels" yaml:"labels"`
	DeviceResources []resourceShape `json:"deviceResources" yaml:"deviceResources"`
	DeviceCommands  []commandShape  `json:"deviceCommands" yaml:"deviceCommands"`
}

type resourceShape struct {
	Description string          `json:"description" yaml:"description"`
	Name        string          `json:"name" yaml:"name"`
	IsHidden    bool            `json:"isHidden" yaml:"isHidden"`
	Tag         string          `json:"tag" yaml:"tag"`
	Properties  propertiesShape `json:"properties" yaml:"properties"`
	Attributes  map[string]any  `json:"attributes" yaml:"attributes"`
}

// propertiesShape has the fields of domain.ResourceProperties in the same order, so that one converts to the other.
type propertiesShape struct {
	ValueType    string `json:"valueType" yaml:"valueType"`
	ReadWrite    string `json:"readWrite" yaml:"readWrite"`
	Units        string `json:"units" yaml:"units"`
	Minimum      string `json:"minimum" yaml:"minimum"`
	Maximum      string `json:"maximum" yaml:"maximum"`
	DefaultValue string `json:"defaultValue" yaml:"defaultValue"`
	Mask         string `json:"mask" yaml:"mask"`
	Shift        string `json:"shift" yaml:"shift"`
	Scale        string `json:"scale" yaml:"scale"`
	Offset       string `json:"offset" yaml:"offset"`
	Base         string `json:"base" yaml:"base"`
	Assertion    string `json:"assertion" yaml:"assertion"`
	MediaType    string `json:"mediaType" yaml:"mediaType"`
}

type commandShape struct {
	Name               string           `json:"name" yaml:"name"`
	IsHidden           bool             `json:"isHidden" yaml:"isHidden"`
	ReadWrite          string           `json:"readWrite" yaml:"readWrite"`
	ResourceOperations []operationShape `json:"resourceOperations" yaml:"resourceOperations"`
}

type operationShape struct {
	DeviceResource string            `json:"deviceResource" yaml:"deviceResource"`
	DefaultValue   string            `json:"defaultValue" yaml:"defaultValue"`
	Mappings       map[string]string `json:"mappings" yaml:"mappings"`
}

// addProfile is an element of POST /deviceprofile.
type addProfile struct {
	handlers.Head
	Profile profileShape `json:"profile"`
}

type profileAnswer struct {
	handlers.Envelope
	Profile profileShape `json:"profile"`
}

type profilesAnswer struct {
	handlers.ListEnvelope
	Profiles []profileShape `json:"profiles"`
}

// profile returns the entity that a request describes; its id and times are the caller's.
func (d profileShape) profile() domain.Profile {
	return domain.Profile{
		ID: d.ID, Name: d.Name, Manufacturer: d.Manufacturer, Description: d.Description, Model: d.Model,
		Labels:          d.Labels,
		DeviceResources: convert(d.DeviceResources, resourceShape.resource),
		DeviceCommands:  convert(d.DeviceCommands, commandShape.command),
	}.Normalize()
}

func shapeProfile(d domain.Profile) profileShape {
	return profileShape{
		Created: d.Created, Modified: d.Modified, ID: d.ID, Name: d.Name, Manufacturer: d.Manufacturer,
		Description: d.Description, Model: d.Model, Labels: d.Labels,
		DeviceResources: convert(d.DeviceResources, shapeResource),
		DeviceCommands:  convert(d.DeviceCommands, shapeCommand),
	}
}

func (r resourceShape) resource() domain.DeviceResource {
	return domain.DeviceResource{
		Name: r.Name, Description: r.Description, IsHidden: r.IsHidden, Tag: r.Tag,
		Properties: domain.ResourceProperties(r.Properties), Attributes: r.Attributes,
	}
}

func shapeResource(r domain.DeviceResource) resourceShape {
	return resourceShape{
		Name: r.Name, Description: r.Description, IsHidden: r.IsHidden, Tag: r.Tag,
		Properties: propertiesShape(r.Properties), Attributes: r.Attributes,
	}
}

func (c commandShape) command() domain.DeviceCommand {
	return domain.DeviceCommand{
		Name: c.Name, IsHidden: c.IsHidden, ReadWrite: c.ReadWrite,
		ResourceOperations: convert(c.ResourceOperations, func(o operationShape) domain.ResourceOperation {
			return domain.ResourceOperation(o)
		}),
	}
}

func shapeCommand(c domain.DeviceCommand) commandShape {
	return commandShape{
		Name: c.Name, IsHidden: c.IsHidden, ReadWrite: c.ReadWrite,
		ResourceOperations: convert(c.ResourceOperations, func(o domain.ResourceOperation) operationShape {
			return operationShape(o)
		}),
	}
}

// convert returns [] for no list, as EdgeX answers.
func convert[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
