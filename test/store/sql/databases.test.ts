import { afterAll, describe, onTestFinished } from 'vitest';
import { storeSuite } from '../suite.ts';
import { failureSuite } from './failing.ts';
import { gatewaySuite } from './gateway.ts';
import { migrationSuite } from './migrations.ts';
import { modelSuite } from './model.ts';
import { kinds, type Place, stopPglite } from './places.ts';
import { planSuite } from './plans.ts';

afterAll(stopPglite);

describe.each(kinds)('$name', ({ place, dialect }) => {
  const fresh = async (): Promise<Place> => {
    const made = await place();
    onTestFinished(() => made.close());
    return made;
  };
  describe('as a store', () => storeSuite(async () => (await fresh()).open()));
  describe('against the model', () => modelSuite(place));
  describe('under gateways', () => gatewaySuite(fresh));
  describe('its tables', () => migrationSuite(fresh));
  describe('its failures', () => failureSuite(fresh));
  describe('its plans', () => planSuite(fresh, dialect));
});
