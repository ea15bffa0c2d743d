package metadata

import "ledge/handlers"

// updateProfileInfo is an element of PATCH /deviceprofile/basicinfo: a field that is missing or null stays as it is.
type updateProfileInfo struct {
	handlers.Head
	Info profilePatchShape `json:"basicinfo"`
}

type profilePatchShape struct {
	ID           *string  `json:"id"`
	Name         *string  `json:"name"`
	Manufacturer *string  `json:"manufacturer"`
	Description  *string  `json:"description"`
	Model        *string  `json:"model"`
	Labels       []string `json:"labels"`
}

// partHead heads an element that is for a part of a profile.
type partHead struct {
	handlers.Head
	ProfileName string `json:"profileName"`
}

type addResource struct {
	partHead
	Resource resourceShape `json:"resource"`
}

type updateResource struct {
	partHead
	Resource resourcePatchShape `json:"resource"`
}

type resourcePatchShape struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	IsHidden    *bool   `json:"isHidden"`
}

type addCommand struct {
	partHead
	Command commandShape `json:"deviceCommand"`
}

type updateCommand struct {
	partHead
	Command commandPatchShape `json:"deviceCommand"`
}

type commandPatchShape struct {
	Name     *string `json:"name"`
	IsHidden *bool   `json:"isHidden"`
}

type resourceAnswer struct {
	handlers.Envelope
	Resource resourceShape `json:"resource"`
}
