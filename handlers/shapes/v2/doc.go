// Package v2 is the JSON, and for profiles the YAML, in which API v2 has devices, device profiles, device services and
// provision watchers: core-metadata takes and shows them, and device services are told of them.
//
// The fields stand in the order in which EdgeX 2.3 writes them, and carry omitempty where EdgeX leaves empty ones out.
// Fields with the tag patch:"-" are not in a patch. Entity returns the entity of a shape; the Of functions return the shape of an entity.
package v2
