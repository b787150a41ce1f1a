/**
 * Groupings of components: pure functions. A grouping is a list of {name, colour, components};
 * a component is in one group at most, and no group is empty.
 */

export const COLOURS = [
  "Blue", "Red", "Sea green", "Purple", "Amber", "Sky blue",
  "Pink", "Green", "Indigo", "Orange", "Turquoise", "Magenta",
];
const RESERVED = "rest"; // the name of what is in no group
const MOST = 60; // characters of a name

/** Degrees: neighbours are far apart, as in the static report. */
export const hue = (colour) => Math.round((250 + 137.508 * colour) % 360);

export const groupOf = (groups, number) => groups.find(({ components }) => components.includes(number));

export const named = (groups, name) => groups.find((group) => group.name === name);

/** Move components to a group that exists, or out of all groups (null); empty groups vanish. */
export function moved(groups, numbers, name) {
  const members = (group) => (group.name === name
    ? sorted([...group.components, ...numbers])
    : group.components.filter((n) => !numbers.includes(n)));
  return groups
    .map((group) => ({ ...group, components: members(group) }))
    .filter(({ components }) => components.length);
}

/** Put components into a new group, with a name and a colour that no other group has. */
export function grouped(groups, numbers) {
  const left = moved(groups, numbers, null);
  const group = { name: freeName(left), colour: freeColour(left), components: sorted(numbers) };
  return { groups: [...left, group], name: group.name };
}

export const ungrouped = (groups, name) => groups.filter((group) => group.name !== name);

export const renamed = (groups, name, to) => changed(groups, name, { name: to.trim() });

export const recoloured = (groups, name, colour) => changed(groups, name, { colour });

/** What is wrong with a name, in a sentence; "" if nothing is. */
export function nameProblem(groups, name, to) {
  const trimmed = to.trim();
  const same = (group) => group.name !== name && group.name.toLowerCase() === trimmed.toLowerCase();
  if (!trimmed) return "A group needs a name.";
  if ([...trimmed].length > MOST) return `A name has at most ${MOST} characters.`;
  if (trimmed.toLowerCase() === RESERVED) return `“${RESERVED}” is the name of what is in no group.`;
  if (groups.some(same)) return `There is a group “${trimmed}” already.`;
  if (trimmed.startsWith(".")) return "A name cannot begin with a full stop.";
  if (/[/\\:*?"<>|=,;\p{Cc}]/u.test(trimmed)) return "A name of a file cannot have / \\ : * ? \" < > | = , ; in it.";
  return "";
}

function changed(groups, name, change) {
  return groups.map((group) => (group.name === name ? { ...group, ...change } : group));
}

const sorted = (numbers) => [...new Set(numbers)].sort((a, b) => a - b);

function freeName(groups) {
  for (let i = 1; ; i++) {
    const name = `Group ${i}`;
    if (!nameProblem(groups, null, name)) return name;
  }
}

function freeColour(groups) {
  const used = groups.map(({ colour }) => colour);
  const free = COLOURS.findIndex((_, i) => !used.includes(i));
  return free < 0 ? groups.length % COLOURS.length : free;
}
