/**
 * Groupings of components: pure functions. A grouping is a list of {name, colour, components};
 * a component is in one group at most, and no group is empty.
 */

const COLOURS = 12;
const LONGEST = 50; // characters of a name
const RESERVED = /^(rest|con|prn|aux|nul|(com|lpt)\d)(\.|$)/i; // of what is in no group; of systems
const NOT_IN_NAMES = /[/\\:*?"<>|=,;\p{C}\p{Zl}\p{Zp}]/gu;

/** Degrees: neighbours are far apart, as in the static report. */
export const hue = (colour) => Math.round((250 + 137.508 * colour) % 360);

export const groupOf = (groups, number) =>
  groups.find(({ components }) => components.includes(number));

export const named = (groups, name) => groups.find((group) => group.name === name);

/** Move components to a group that exists, or out of all groups (null); empty groups vanish. */
export function moved(groups, numbers, name) {
  const members = (group) => (group.name === name
    ? sorted([...group.components, ...numbers])
    : group.components.filter((number) => !numbers.includes(number)));
  return groups
    .map((group) => ({ ...group, components: members(group) }))
    .filter(({ components }) => components.length);
}

/** Put components into a new group, with a name and a colour that no other group has. */
export function grouped(groups, numbers) {
  const left = moved(groups, numbers, null);
  const name = freeName(left, "Group", 1);
  const group = { name, colour: freeColour(left), components: sorted(numbers) };
  return { groups: [...left, group], name: group.name };
}

/** A group for each set of components. */
export const groupsOf = (sets) => sets.map((components, i) => (
  { name: `Group ${i + 1}`, colour: i % COLOURS, components }));

export const ungrouped = (groups, name) => groups.filter((group) => group.name !== name);

export const NO_GROUP = "rest"; // what is in no group

/** Names that marks are about and no group has: groups that are made when marks are learned. */
export function newNames(groups, marks) {
  const about = new Set(marks.map(({ group }) => group));
  return [...about].filter((name) => name !== NO_GROUP && !named(groups, name)?.components.length);
}

/** Groups that are there, those that marks make, and the rest, with colours. */
export function allGroups(groups, names) {
  const all = names.filter((name) => !named(groups, name)).reduce((done, name) => (
    [...done, { name, colour: freeColour(done), components: [] }]), groups);
  return [...all, { name: NO_GROUP, colour: null, components: [] }];
}

const freeColour = (groups) => {
  const colours = Array.from({ length: COLOURS }, (_, i) => i);
  return colours.find((colour) => groups.every((group) => group.colour !== colour))
    ?? groups.length % COLOURS;
};

/** Give a group the name that comes nearest to what was typed: a file can be called like this. */
export function renamed(groups, name, typed) {
  const others = groups.filter((group) => group.name !== name);
  let to = usable(typed) || name;
  if (taken(others, to)) to = freeName(others, to, 2);
  const change = (group) => (group.name === name ? { ...group, name: to } : group);
  return { groups: groups.map(change), name: to };
}

/** The name that comes nearest to what was typed, or "". */
export function usable(typed) {
  const words = typed.toWellFormed().replace(NOT_IN_NAMES, " ").replace(/^[.\s]+/, "");
  const cut = [...words].slice(0, LONGEST).join("").replace(/[.\s]+$/, "");
  return RESERVED.test(cut) ? `Group ${cut}` : cut;
}

function freeName(groups, words, number) {
  const name = `${words} ${number}`;
  return taken(groups, name) ? freeName(groups, words, number + 1) : name;
}

const taken = (groups, name) =>
  groups.some((group) => group.name.toLowerCase() === name.toLowerCase());

const sorted = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);
