package metadata

import (
	"ledge/handlers"
	v2 "ledge/handlers/shapes/v2"
)

// addResource is an element of POST /deviceprofile/resource.
type addResource struct {
	handlers.Head
	ProfileName string      `json:"profileName"`
	Resource    v2.Resource `json:"resource"`
}

type updateResource struct {
	handlers.Head
	ProfileName string             `json:"profileName"`
	Resource    resourcePatchShape `json:"resource"`
}

type resourcePatchShape struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	IsHidden    *bool   `json:"isHidden"`
}

type addCommand struct {
	handlers.Head
	ProfileName string     `json:"profileName"`
	Command     v2.Command `json:"deviceCommand"`
}

type updateCommand struct {
	handlers.Head
	ProfileName string            `json:"profileName"`
	Command     commandPatchShape `json:"deviceCommand"`
}

type commandPatchShape struct {
	Name     *string `json:"name"`
	IsHidden *bool   `json:"isHidden"`
}

type resourceAnswer struct {
	handlers.Envelope
	Resource v2.Resource `json:"resource"`
}
